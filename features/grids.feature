Feature: What a project declares
  A grid that says something it cannot mean is refused whole, with the line,
  and no session starts on it.

  Scenario Outline: The number of rounds has to be a positive integer
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And the grid says "insufficient-basis-rounds-max: <value>"
    When a session starts
    Then it is refused: "<code>"
    And the refusal says "grid.v1.yaml:2"
    And nothing was made beside the grid

    Examples:
      | value | code                                         |
      | three | insufficient-basis-rounds-max-must-be-integer |
      | 2.5   | insufficient-basis-rounds-max-must-be-integer |
      | "3"   | insufficient-basis-rounds-max-must-be-integer |
      | 0x3   | insufficient-basis-rounds-max-must-be-integer |
      | true  | insufficient-basis-rounds-max-must-be-integer |
      | [3]   | insufficient-basis-rounds-max-must-be-integer |
      | null  | insufficient-basis-rounds-max-must-be-integer |
      | 1e1   | insufficient-basis-rounds-max-must-be-integer |
      | 0     | insufficient-basis-rounds-max-must-be-positive |
      | -1    | insufficient-basis-rounds-max-must-be-positive |
      | -3    | insufficient-basis-rounds-max-must-be-positive |

  Scenario Outline: Other limits are held to the same
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And the grid says "<setting>"
    When a session starts
    Then it is refused: "<code>"

    Examples:
      | setting                     | code                                    |
      | residue-note-max-bytes: big | residue-note-max-bytes-must-be-integer  |
      | residue-note-max-bytes: 0   | residue-note-max-bytes-must-be-positive |
      | modal-pending-max-len: 1.5  | modal-pending-max-len-must-be-integer   |
      | modal-pending-max-len: -64  | modal-pending-max-len-must-be-positive  |

  Scenario Outline: A grid in good order is taken
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And the grid says "insufficient-basis-rounds-max: <value>"
    When a session starts
    Then it is done
    And the arrow "A-checkout" is unevaluated

    Examples:
      | value      |
      | 1          |
      | 3          |
      | 4294967295 |

  Scenario: A bad next version does not disturb what is on record
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And "alice" is at the desk
    And the arrow "A-checkout" was dispatched
    And the operator answered:
      | clause | answer |
      | C1     | pass   |
    And the trail was looked at
    When the session dies
    And the next grid says "insufficient-basis-rounds-max: none"
    And the grid moves on to the next version
    And a new session starts
    Then it is refused: "insufficient-basis-rounds-max-must-be-integer"
    And the trail is what it was

  Scenario: An arrow nobody declared
    Given a project with the arrow "A-checkout" over the clauses "C1"
    When the arrow "A-chekout" is dispatched
    Then it is refused: "arrow-unknown"
    And the refusal says "A-checkout"
    And pass-opened was told never

  Scenario Outline: One piece of work at a time for a role in a context
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And another arrow "A-refund" over the clauses "R1"
    And the arrow "A-refund" leads from "<source>" to "tester" in "<context>", stratum "code"
    When the arrow "A-checkout" is dispatched
    And the arrow "A-refund" is dispatched
    Then <outcome>

    Examples:
      | source    | context  | outcome                            |
      | analyst   | checkout | it is refused: "role-context-busy" |
      | analyst   | refund   | it is done                         |
      | architect | checkout | it is done                         |

  Scenario: Busy until the first piece of work is decided
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And another arrow "A-refund" over the clauses "R1"
    And "alice" is at the desk
    When the arrow "A-checkout" is dispatched
    And the arrow "A-refund" is dispatched
    Then it is refused: "role-context-busy"
    And the refusal says "A-checkout"
    And the refusal says "«pass»"
    When the operator answers:
      | clause | answer |
      | C1     | pass   |
    And the arrow "A-refund" is dispatched
    Then it is done
    And the passes are:
      | arrow      | status | reason |
      | A-checkout | closed |        |
      | A-refund   | open   |        |

  Scenario: A pass that the grid has left behind is over when its arrow is dispatched again
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And "alice" is at the desk
    And the arrow "A-checkout" was dispatched
    When the session dies
    And the grid moves on to the next version
    And a new session starts
    And the arrow "A-checkout" is dispatched again
    Then the passes are:
      | arrow      | status  | reason       |
      | A-checkout | aborted | grid-changed |
      | A-checkout | open    |              |
    When "alice" answers:
      | clause | answer |
      | C1     | pass   |
    Then the questions were:
      | ref                  | grid |
      | att-A-checkout-C1-v2 | 2    |
    And the record "att-A-checkout-C1-v2" stands in "v2/checkout/stratum-behaviour/analyst__architect/«pass 2».jsonl"
