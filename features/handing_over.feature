Feature: Operators hand over to each other
  A verdict carries the name of whoever gave it, also when two operators share
  one pass.

  Background:
    Given a project with the arrow "A-checkout" over the clauses "C1, C2"

  Scenario: Two operators decide one pass
    Given "alice" is at the desk
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
    And "bob" answers:
      | clause | answer |
      | C2     | pass   |
    Then the records are, oldest first:
      | attestation_id        | op_id | pass_id |
      | att-A-checkout-C1-v1  | alice | «pass»  |
      | att-A-checkout-C2-v1  | bob   | «pass»  |
    And the arrow "A-checkout" is complete

  Scenario: The one who submits answers, not the one who was asked
    Given "alice" is at the desk
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer           |
      | C1     | hand over to bob |
      | C1     | pass             |
      | C2     | pass             |
    Then the records are, oldest first:
      | attestation_id       | op_id |
      | att-A-checkout-C1-v1 | bob   |
      | att-A-checkout-C2-v1 | bob   |
