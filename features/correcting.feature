Feature: A verdict is corrected by the next one
  What is on record stays on record. The newest verdict counts, and every
  earlier one can still be read.

  Background:
    Given a project with the arrow "A-checkout" over the clauses "C1, C2"
    And "alice" is at the desk
    And the arrow "A-checkout" was dispatched

  Scenario Outline: A correction is the next round
    When the operator answers:
      | clause | answer  | locations    |
      | C1     | <first> | <first seen> |
    And the trail is looked at
    And "bob" attests:
      | ref                  | verdict  | locations     |
      | att-A-checkout-C1-v1 | <second> | <second seen> |
    Then it is done
    And the trail has only grown
    And the records are, oldest first:
      | attestation_id          | verdict  | op_id | pass_id |
      | att-A-checkout-C1-v1    | <first>  | alice | «pass»  |
      | att-A-checkout-C1-v1.r2 | <second> | bob   | «pass»  |
    And the clause C1 of "A-checkout" is <second>

    Examples:
      | first | first seen | second | second seen |
      | pass  |            | fail   | src/a.rs:3  |
      | fail  | src/a.rs:3 | pass   |             |

  Scenario: A pass resolves the defects that were open
    When "alice" attests:
      | ref                  | verdict | locations |
      | att-A-checkout-C1-v1 | fail    | src/a.rs  |
      | att-A-checkout-C1-v1 | fail    | src/b.rs  |
      | att-A-checkout-C1-v1 | pass    |           |
    Then the findings are:
      | clause | detail   | status   | by                      |
      | C1     | src/a.rs | resolved | att-A-checkout-C1-v1.r3 |
      | C1     | src/b.rs | resolved | att-A-checkout-C1-v1.r3 |

  Scenario: A correction after the pass has closed has a pass of its own
    When the operator answers:
      | clause | answer |
      | C1     | pass   |
      | C2     | pass   |
    And the session dies
    And a new session starts
    And "bob" attests:
      | ref                  | verdict | locations |
      | att-A-checkout-C2-v1 | fail    | src/a.rs  |
    Then the record "att-A-checkout-C2-v1.r2" stands under a pass of its own
    And the arrow "A-checkout" is blocked
    And the passes are:
      | arrow      | status | reason |
      | A-checkout | closed |        |
      | A-checkout | closed |        |

  Scenario: A passed clause is corrected where no index is
    When the operator answers:
      | clause | answer |
      | C1     | pass   |
      | C2     | pass   |
    And the session dies
    And the index is deleted
    And a new session starts
    And "bob" attests:
      | ref                  | verdict | locations |
      | att-A-checkout-C2-v1 | fail    | src/a.rs  |
    Then the record "att-A-checkout-C2-v1.r2" stands under a pass of its own
    And the clause C2 of "A-checkout" is fail

  Scenario: What is decided and said again by the same person is no news
    When "alice" attests:
      | ref                  | verdict | locations |
      | att-A-checkout-C1-v1 | fail    | src/a.rs  |
    And the trail is looked at
    And "alice" attests:
      | ref                  | verdict | locations |
      | att-A-checkout-C1-v1 | fail    | src/a.rs  |
    Then it is done
    And the trail is what it was
    And attestation-recorded was told once
    When "bob" attests:
      | ref                  | verdict | locations |
      | att-A-checkout-C1-v1 | fail    | src/a.rs  |
    Then the records are, oldest first:
      | attestation_id          | op_id |
      | att-A-checkout-C1-v1    | alice |
      | att-A-checkout-C1-v1.r2 | bob   |

  Scenario: A verdict by command takes the question off the screen
    When the operator answers:
      | clause | answer       | locations |
      | C1     | /attest fail | src/a.rs  |
      | C2     | pass         |           |
    Then the questions were:
      | clause | round |
      | C1     | 1     |
      | C2     | 1     |
    And the records are, oldest first:
      | attestation_id       | verdict |
      | att-A-checkout-C1-v1 | fail    |
      | att-A-checkout-C2-v1 | pass    |

  Scenario: Two submissions on one clause, close together
    When these verdicts are submitted at the same time:
      | ref                  | by    | verdict | locations |
      | att-A-checkout-C1-v1 | alice | pass    |           |
      | att-A-checkout-C1-v1 | bob   | fail    | src/a.rs  |
    Then the records on "att-A-checkout-C1-v1" are rounds 1 to 2, by "alice, bob" in some order
    And what stands on "att-A-checkout-C1-v1" is what its newest round says
    And attestation-recorded was told twice

  Scenario: Many submissions on one clause, close together
    When these verdicts are submitted at the same time:
      | ref                  | by    | verdict | locations |
      | att-A-checkout-C1-v1 | alice | pass    |           |
      | att-A-checkout-C1-v1 | bob   | fail    | src/a.rs  |
      | att-A-checkout-C1-v1 | carol | pass    |           |
      | att-A-checkout-C1-v1 | dave  | fail    | src/b.rs  |
      | att-A-checkout-C1-v1 | erin  | pass    |           |
      | att-A-checkout-C1-v1 | frank | fail    | src/c.rs  |
    Then the records on "att-A-checkout-C1-v1" are rounds 1 to 6, by "alice, bob, carol, dave, erin, frank" in some order
    And what stands on "att-A-checkout-C1-v1" is what its newest round says
    And attestation-recorded was told 6 times

  Scenario Outline: The second comes in before anything has followed from the first
    Given "bob" submits this while the first verdict is being acknowledged:
      | ref                  | verdict  | locations     |
      | att-A-checkout-C1-v1 | <second> | <second seen> |
    When "alice" attests:
      | ref                  | verdict | locations    | note   |
      | att-A-checkout-C1-v1 | <first> | <first seen> | <note> |
    Then the records are, oldest first:
      | attestation_id          | verdict  | op_id |
      | att-A-checkout-C1-v1    | <first>  | alice |
      | att-A-checkout-C1-v1.r2 | <second> | bob   |
    And what stands on "att-A-checkout-C1-v1" is what its newest round says
    And still waiting, in this order: "C2"

    Examples:
      | first              | first seen | note    | second | second seen |
      | pass               |            |         | fail   | src/a.rs    |
      | fail               | src/a.rs   |         | pass   |             |
      | insufficient-basis |            | unclear | pass   |             |
      | insufficient-basis |            | unclear | fail   | src/a.rs    |

  Scenario: The same record again is no news
    When the operator answers:
      | clause | answer |
      | C1     | pass   |
    And the trail is looked at
    And the record att-A-checkout-C1-v1 is recorded again, word for word
    Then it is done
    And the trail is what it was
    And attestation-recorded was told once

  Scenario Outline: The same id with other content is refused
    When the operator answers:
      | clause | answer |
      | C1     | pass   |
    And the trail is looked at
    And the record att-A-checkout-C1-v1 is recorded again with another <field>: "<value>"
    Then it is refused: "attestation-duplicate"
    And the trail is what it was
    And attestation-recorded was told once

    Examples:
      | field     | value                          |
      | op_id     | mallory                        |
      | reason    | on second thought              |
      | timestamp | 2026-01-01T00:00:00.000000000Z |

  Scenario Outline: Nobody asked for that
    When "alice" attests:
      | ref   | verdict |
      | <ref> | pass    |
    Then it is refused: "attestation-no-pass-for-ref"
    And 0 records are on the trail

    Examples:
      | ref                     |
      | att-A-checkout-C3-v1    |
      | att-A-checkout-C1-v2    |
      | att-A-checkout-C1-v1.r1 |
      | att-A-checkout-v1       |
      | A-checkout              |
      |                         |

  Scenario Outline: Who answers is checked first, then the evidence, then the ref
    When "<op-id>" attests:
      | ref     | verdict | locations |
      | nothing | <verdict> |         |
    Then it is refused: "<code>"

    Examples:
      | op-id   | verdict | code                        |
      | «blank» | fail    | op-id-required              |
      | alice   | fail    | verdict-unit-insufficient   |
      | alice   | pass    | attestation-no-pass-for-ref |
