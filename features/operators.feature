Feature: Who answers
  An operator is named by an op-id that can be read, typed and told apart;
  names that could deceive a reader are refused before anything is recorded.

  Background:
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And the arrow "A-checkout" was dispatched

  Scenario Outline: Names that are refused
    When the operator gives this name:
      | op-id   |
      | <op-id> |
    Then it is refused: "<code>"
    And nobody has sat down
    When this operator attests "att-A-checkout-C1-v1":
      | op-id   |
      | <op-id> |
    Then it is refused: "<code>"
    And 0 records are on the trail
    And attestation-recorded was told never
    And the arrow "A-checkout" is provisional

    Examples:
      | op-id                | code                     |
      |                      | op-id-required           |
      | «blank»              | op-id-required           |
      | «U+0009»             | op-id-required           |
      | «5000 x»             | op-id-too-long           |
      | «257 x»              | op-id-too-long           |
      | «129 é»              | op-id-too-long           |
      | alice«U+202E»ecila   | op-id-invalid-characters |
      | alice«U+2066»        | op-id-invalid-characters |
      | al«U+200B»ice        | op-id-invalid-characters |
      | «U+FEFF»alice        | op-id-invalid-characters |
      | al«U+00AD»ice        | op-id-invalid-characters |
      | alice smith          | op-id-invalid-characters |
      | alice«U+00A0»smith   | op-id-invalid-characters |
      | alice«U+3000»smith   | op-id-invalid-characters |
      | ../x                 | op-id-invalid-characters |
      | a..b                 | op-id-invalid-characters |
      | a/b                  | op-id-invalid-characters |
      | a\\b                 | op-id-invalid-characters |
      | .alice               | op-id-invalid-characters |
      | -alice               | op-id-invalid-characters |
      | alice.               | op-id-invalid-characters |
      | al«U+0000»ice        | op-id-invalid-characters |
      | al«U+000A»ice        | op-id-invalid-characters |
      | al«U+001B»[31mice    | op-id-invalid-characters |
      | al«U+009B»31mice     | op-id-invalid-characters |

  Scenario Outline: Names that are kept to the character
    When this operator attests "att-A-checkout-C1-v1":
      | op-id   |
      | <op-id> |
    Then it is done
    And the record "att-A-checkout-C1-v1" says:
      | op_id | <op-id> |
    And the record "att-A-checkout-C1-v1" stands in "v1/checkout/stratum-behaviour/analyst__architect/«pass».jsonl"
    When the session dies
    And the index is deleted
    And a new session starts
    Then 1 record is on the trail
    And the index names the operator of "att-A-checkout-C1-v1":
      | op-id   |
      | <op-id> |

    Examples:
      | op-id              |
      | alice              |
      | alice@example.com  |
      | a"b{}              |
      | {"op_id":"x"}      |
      | [1,2],             |
      | a:b;c              |
      | '--                |
      | élodie             |
      | 王芳               |
      | a.b-c_d            |
      | «256 x»            |
      | «128 é»            |
      | <script>           |
      | $(reboot)          |
      | %s%n               |

  Scenario: A refused name leaves the one before in place
    When "alice" sits down
    And "bob smith" sits down
    Then it is refused: "op-id-invalid-characters"
    When the operator answers:
      | clause | answer |
      | C1     | pass   |
    Then the records are, oldest first:
      | attestation_id       | op_id |
      | att-A-checkout-C1-v1 | alice |
