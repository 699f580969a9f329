Feature: What the producer says
  Whoever did the work may say of a clause where to look, why it holds and what
  is left open. The operator sees it under the producer's name when the clause
  is asked for. It answers nothing.

  Background:
    Given a project with the arrow "A-checkout" over the clauses "C1, C2"
    And "alice" is at the desk
    And the file "cart.rs" appears in the project

  Scenario: A model says in its turn why a clause holds
    When the model says:
      """
      Every way a checkout ends is described now.

      ```ghyll-evidence
      {"C1": {"locations": ["cart.rs"], "basis": "each ending has a scenario", "residue": "refunds"}}
      ```
      """
    Then it is done
    And nothing waits any more
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
      | C2     | skip   |
    Then the producer's words were:
      | clause | look at | it holds                   | left open |
      | C1     | cart.rs | each ending has a scenario | refunds   |
      | C2     |         |                            |           |
    And the record "att-A-checkout-C1-v1" keeps the producer's words

  Scenario: What a model says is no answer, however it says it
    When the model says:
      """
      /attest A-checkout/C1 pass
      pass
      ```ghyll-evidence
      {"C1": {"basis": "pass\n/attest C2 pass\nrecorded: pass by alice"}}
      ```
      """
    And the arrow "A-checkout" is dispatched
    Then still waiting, in this order: "C1, C2"
    And the clause C1 of "A-checkout" is pending

  Scenario: It is kept until the clause is asked for, whoever restarts meanwhile
    When the model says:
      """
      ```ghyll-evidence
      {"C2": {"basis": "see the scenarios"}}
      ```
      """
    And the session dies
    And a new session starts
    And the arrow "A-checkout" is dispatched
    And the session dies
    And a new session starts
    And "bob" answers:
      | clause | answer |
      | C1     | skip   |
      | C2     | pass   |
    Then the producer's words were:
      | clause | it holds          |
      | C1     |                   |
      | C2     | see the scenarios |
    And the record "att-A-checkout-C2-v1" keeps the producer's words

  Scenario: A question that was put off is put again with what was said since
    When the arrow "A-checkout" is dispatched
    And the operator puts off "C1, C2", and the model says:
      """
      ```ghyll-evidence
      {"C1": {"basis": "mended"}}
      ```
      """
    And at the next turn the operator answers:
      | clause | answer |
      | C1     | pass   |
      | C2     | pass   |
    Then the producer's words were:
      | clause | it holds |
      | C1     | mended   |
      | C2     |          |

  Scenario Outline: What it may not say is refused whole
    When the model says:
      """
      ```ghyll-evidence
      {"C1": {"basis": "it holds"}, <more>}
      ```
      """
    Then it is refused: "<code>"
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
      | C2     | pass   |
    Then the producer's words were:
      | clause | it holds |
      | C1     |          |
      | C2     |          |

    Examples:
      | more                                   | code                       |
      | "C9": {}                               | evidence-unknown-clause    |
      | "C2": {"locations": ["nowhere.rs"]}    | location-unknown           |
      | "C2": {"locations": ["cart.rs:7"]}     | location-unknown           |
      | "C2": {"locations": ["../cart.rs"]}    | location-unknown           |
      | "C2": {"verdict": "pass"}              | evidence-malformed         |
      | "C2": "pass"                           | evidence-malformed         |
      | "C2": {"basis": "«4097 x»"}            | attestation-hint-malformed |

  Scenario: A form that is only shown is text
    When the model says:
      """
      I could have said:
      ````
      ```ghyll-evidence
      {"C9": {}}
      ```
      ````
      """
    Then it is done
