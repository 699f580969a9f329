Feature: A session ends in the middle of it
  Whatever ends a session, a verdict that was acknowledged is there, none is
  asked for twice, and what was pending is asked again, in order, as it was
  asked the first time.

  Background:
    Given a project with the arrow "A-checkout" over the clauses "C1, C2, C3"
    And the arrow "A-checkout" leads from "analyst" to "architect" in "checkout", stratum "behaviour"
    And "critic" doubts the work on "A-checkout"
    And "alice" is at the desk

  Scenario: Between a verdict and the next question
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
    And the session dies
    And a new session starts
    Then it is done
    And these were told, in this order:
      | attestation-recorded             |
      | recovery-attestation-republished |
      | recovery-attestation-republished |
    And still waiting, in this order: "C2, C3"
    When "bob" answers:
      | clause | answer |
      | C2     | pass   |
      | C3     | pass   |
    Then the questions were:
      | clause | ref                  | round | context  | stratum   | roles                        | grid |
      | C2     | att-A-checkout-C2-v1 | 1     | checkout | behaviour | analyst > critic > architect | 1    |
      | C3     | att-A-checkout-C3-v1 | 1     | checkout | behaviour | analyst > critic > architect | 1    |
    And the records are, oldest first:
      | attestation_id       | op_id | pass_id |
      | att-A-checkout-C1-v1 | alice | «pass»  |
      | att-A-checkout-C2-v1 | bob   | «pass»  |
      | att-A-checkout-C3-v1 | bob   | «pass»  |
    And the arrow "A-checkout" is complete

  Scenario: The grid has moved on meanwhile
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
    And the session dies
    And the arrow "A-checkout" is redrawn from "tester" to "builder" in "returns", stratum "code"
    And the grid moves on to the next version
    And a new session starts
    And "bob" answers:
      | clause | answer             | locations | note    |
      | C2     | fail               | src/a.rs  |         |
      | C3     | insufficient-basis |           | unclear |
    Then the questions were:
      | clause | ref                  | context  | stratum   | roles                        | grid |
      | C2     | att-A-checkout-C2-v1 | checkout | behaviour | analyst > critic > architect | 1    |
      | C3     | att-A-checkout-C3-v1 | checkout | behaviour | analyst > critic > architect | 1    |
    And the record "att-A-checkout-C2-v1" says:
      | grid_version   | 1         |
      | source_role    | analyst   |
      | target_role    | architect |
      | adversary_role | critic    |
      | context        | checkout  |
      | stratum        | behaviour |
      | pass_id        | «pass»    |
    And the record "att-A-checkout-C3-v1" stands in "v1/checkout/stratum-behaviour/analyst__critic__architect/«pass».jsonl"
    And the arrow "A-checkout" is unevaluated

  Scenario: Nothing was answered at all
    When the arrow "A-checkout" is dispatched
    And the session dies
    And a new session starts
    Then recovery-attestation-republished was told 3 times
    And 0 records are on the trail
    When "alice" answers:
      | clause | answer |
      | C1     | pass   |
      | C2     | pass   |
      | C3     | pass   |
    Then the arrow "A-checkout" is complete
    And the passes are:
      | arrow      | status | reason |
      | A-checkout | closed |        |

  Scenario Outline: Right after a verdict is durable, before it has acted
    When the arrow "A-checkout" is dispatched
    And the session dies right after this verdict is durable:
      | clause | answer   | locations   | note   |
      | C1     | <answer> | <locations> | <note> |
    And a new session starts
    Then the clause C1 of "A-checkout" is <status>
    And recovery-attestation-replay was told once
    And 1 record is on the trail
    And still waiting, in this order: "<waiting>"
    When the session dies
    And a new session starts
    Then recovery-attestation-replay was told once
    And 1 record is on the trail
    And still waiting, in this order: "<waiting>"

    Examples:
      | answer             | locations | note    | status  | waiting    |
      | pass               |           |         | pass    | C2, C3     |
      | fail               | src/a.rs  |         | fail    | C2, C3     |
      | insufficient-basis |           | unclear | pending | C1, C2, C3 |

  Scenario: A failing verdict is still told to the producer after a crash
    When the arrow "A-checkout" is dispatched
    And the session dies right after this verdict is durable:
      | clause | answer | locations        |
      | C1     | fail   | src/a.rs:1, b.rs |
    Then clause-fail-verdict was told never
    When a new session starts
    Then the producer was told of "att-A-checkout-C1-v1", with the locations "src/a.rs:1, b.rs"
    And the findings are:
      | clause | type         | status |
      | C1     | fail-verdict | open   |

  Scenario: Right after the third round, before it was counted
    When the arrow "A-checkout" is dispatched
    And 2 more rounds go without a basis
    And the session dies
    And a new session starts
    And "alice" sits down
    And the session dies right after this verdict is durable:
      | clause | answer             | note  |
      | C1     | insufficient-basis | third |
    Then insufficient-basis-rounds-exceeded was told never
    When a new session starts
    Then insufficient-basis-rounds-exceeded was told once
    When "bob" answers:
      | clause | answer             | note  |
      | C1     | 1: accept the risk | known |
      | C2     | skip               |       |
      | C3     | skip               |       |
    Then the clause C1 of "A-checkout" is pass

  Scenario: A last line that a crash cut short
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
    And the session dies
    And half a line is found at the end of the pass's file
    And a new session starts
    Then it is done
    And 1 record is on the trail
    And the session notes a partial last line
    And still waiting, in this order: "C2, C3"

  Scenario: A pass in which nothing waited is aborted
    When the arrow "A-checkout" is dispatched, and the session dies when its pass is open
    And a new session starts
    Then recovery-pass-aborted-crash was told once
    And the passes are:
      | arrow      | status  | reason |
      | A-checkout | aborted | crash  |

  Scenario: An index that is gone is made again from the trail
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer | locations |
      | C1     | pass   |           |
      | C2     | fail   | src/a.rs  |
    And the trail is looked at
    And the session dies
    And the index is deleted
    And a new session starts
    Then it is done
    And the trail is what it was
    And 2 records are on the trail
    And the clause C1 of "A-checkout" is pass
    And the clause C2 of "A-checkout" is fail

  Scenario: Two sessions at once
    Given the arrow "A-checkout" was dispatched
    When another session is started on the same project
    Then it is done
    When the operator answers:
      | clause | answer |
      | C1     | pass   |
    And the other session attests "att-A-checkout-C2-v1" as "bob"
    Then 2 records are on the trail
    And still waiting, in this order: "C3"
    And recovery-attestation-republished was told never
    When the session dies
    And a new session starts
    Then it is done
    And still waiting, in this order: "C3"

  Scenario: Two at once, and one of them is writing
    Given the arrow "A-checkout" was dispatched
    And somebody is in the middle of writing
    When another session is started on the same project
    Then it is refused: "session-locked"
    And the refusal names the process that writes
    When they are done writing
    And another session is started on the same project
    Then it is done
