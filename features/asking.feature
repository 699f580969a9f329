Feature: Questions wait until they are answered
  A question may be put off, but it is never lost, never put twice at once, and
  there are never so many that the operator drowns.

  Scenario: A skipped question is asked again at the next turn
    Given a project with the arrow "A-checkout" over the clauses "C1, C2, C3"
    And "alice" is at the desk
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | skip   |
      | C2     | pass   |
      | C3     | skip   |
    Then it is done
    And modal-skipped was told twice
    And still waiting, in this order: "C1, C3"
    And the arrow "A-checkout" is provisional
    When at the next turn the operator answers:
      | clause | answer |
      | C1     | pass   |
      | C3     | skip   |
    And at the next turn the operator answers:
      | clause | answer |
      | C3     | pass   |
    Then the arrow "A-checkout" is complete

  Scenario: Leaving in the middle keeps the rest, in order
    Given a project with the arrow "A-checkout" over the clauses "C1, C2, C3, C4"
    And "alice" is at the desk
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | skip   |
      | C2     | pass   |
      | C3     | leave  |
    Then it is refused: "modal-left"
    And still waiting, in this order: "C1, C3, C4"
    When at the next turn the operator answers:
      | clause | answer |
      | C1     | pass   |
      | C3     | pass   |
      | C4     | pass   |
    Then the arrow "A-checkout" is complete

  Scenario: An arrow dispatched again asks for nothing twice
    Given a project with the arrow "A-checkout" over the clauses "C1, C2"
    And "alice" is at the desk
    When the arrow "A-checkout" is dispatched
    And the arrow "A-checkout" is dispatched again
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
    And the arrow "A-checkout" is dispatched again
    And the operator answers:
      | clause | answer |
      | C2     | pass   |
    Then pass-opened was told once
    And 2 records are on the trail
    And the arrow "A-checkout" is complete

  Scenario: A turn with nothing to ask asks nothing
    Given a project with the arrow "A-checkout" over the clauses "C1"
    When a turn comes and nobody answers
    Then it is done
    And nothing was asked

  Scenario: Without a name no answer is taken
    Given a project with the arrow "A-checkout" over the clauses "C1"
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer              |
      | C1     | pass                |
      | C1     | hand over to alice  |
      | C1     | pass                |
    Then the questions were:
      | clause | because        |
      | C1     |                |
      | C1     | op-id-required |
    And the records are, oldest first:
      | attestation_id       | op_id |
      | att-A-checkout-C1-v1 | alice |

  Scenario Outline: More questions than may wait at once
    Given the project has the arrow "A-checkout" over <clauses> clauses
    And the grid says "modal-pending-max-len: <max>"
    And "alice" is at the desk
    When the arrow "A-checkout" is dispatched
    Then modal-backpressure was told <pressed>
    And <clauses> questions wait
    When the operator passes the clauses C1 to C<clauses>
    Then it is done
    And <clauses> records are on the trail
    And the arrow "A-checkout" is complete

    Examples:
      | clauses | max | pressed  |
      | 5       | 2   | 3 times  |
      | 3       | 1   | twice    |
      | 4       | 4   | never    |
      | 65      | 64  | once     |
      | 20      | 2   | 18 times |
      | 130     | 64  | 66 times |

  Scenario: With room for one question the next round still waits for the next turn
    Given the project has the arrow "A-checkout" over 2 clauses
    And the grid says "modal-pending-max-len: 1"
    And "alice" is at the desk
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer             | note    |
      | C1     | insufficient-basis | unclear |
      | C2     | pass               |         |
    Then it is done
    And the clause C1 of "A-checkout" waits for round 2
    When at the next turn the operator answers:
      | clause | answer |
      | C1     | pass   |
    Then the arrow "A-checkout" is complete

  Scenario: A producer that never gives up cannot keep the operator for ever
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And "alice" is at the desk
    And "A-checkout" is dispatched again whenever a pass of it closes
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer | locations |
      | C1     | fail   | src/1.rs  |
      | C1     | fail   | src/2.rs  |
      | C1     | fail   | src/3.rs  |
      | C1     | fail   | src/4.rs  |
      | C1     | fail   | src/5.rs  |
      | C1     | fail   | src/6.rs  |
      | C1     | fail   | src/7.rs  |
      | C1     | fail   | src/8.rs  |
    Then it is refused: "modal-drain-cap-exceeded"
    And 8 records are on the trail
    And the clause C1 of "A-checkout" waits for round 9
    When at the next turn the operator answers:
      | clause | answer |
      | C1     | pass   |
    Then the questions were:
      | clause | round |
      | C1     | 9     |
    And the arrow "A-checkout" is complete

  Scenario: Answers that bring up other arrows
    Given a project with 10 arrows over the clause "C1"
    And "alice" is at the desk
    And every verdict has the next arrow dispatched
    When the arrow "A1" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
      | C1     | pass   |
      | C1     | pass   |
      | C1     | pass   |
      | C1     | pass   |
      | C1     | pass   |
      | C1     | pass   |
      | C1     | pass   |
    Then it is refused: "modal-drain-cap-exceeded"
    And the arrow "A8" is complete
    And the arrow "A9" is provisional
    When at the next turn the operator answers:
      | clause | answer |
      | C1     | pass   |
      | C1     | pass   |
    Then it is done
    And the arrow "A10" is complete
    And nothing waits any more
