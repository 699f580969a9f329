Feature: An operator decides a clause
  Work crosses an arrow when every clause of it is decided, by a named operator,
  on evidence of the right shape.

  Background:
    Given a project with the arrow "A-checkout" over the clauses "C1, C2"
    And "alice" is at the desk

  Scenario: A question says all that is needed to answer it
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
      | C2     | leave  |
    Then the questions were:
      | clause | ref                  | concept        | kind    | round | waiting | roles               | context  | stratum   | grid |
      | C1     | att-A-checkout-C1-v1 | what C1 claims | verdict | 1     | 1       | analyst > architect | checkout | behaviour | 1    |
      | C2     | att-A-checkout-C2-v1 | what C2 claims | verdict | 1     | 0       | analyst > architect | checkout | behaviour | 1    |

  Scenario: Passing a clause
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
      | C2     | pass   |
    Then the record "att-A-checkout-C1-v1" says:
      | kind              | depth-type |
      | arrow_id          | A-checkout |
      | clause_id         | C1         |
      | op_id             | alice      |
      | attested_by_role  | operator   |
      | source_role       | analyst    |
      | target_role       | architect  |
      | adversary_role    |            |
      | verdict           | pass       |
      | reason            | via:terminal |
      | grid_version      | 1          |
      | pass_id           | «pass»     |
      | context           | checkout   |
      | stratum           | behaviour  |
      | unit              | confirm    |
      | unit_payload_json | {}         |
      | hint_json         | {"arrow_id":"A-checkout","clause_id":"C1","concept":"what C1 claims","attestation_ref":"att-A-checkout-C1-v1"} |
    And the record "att-A-checkout-C1-v1" stands in "v1/checkout/stratum-behaviour/analyst__architect/«pass».jsonl"
    And the arrow "A-checkout" is complete
    And the passes are:
      | arrow      | status | reason |
      | A-checkout | closed |        |

  Scenario: A verdict is durable before it is acknowledged, and then stands at once
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
      | C2     | pass   |
    Then it was written, made durable with the way to it, and only then acknowledged
    And each verdict was on disk, and its arrow stood so, when it was acknowledged:
      | record               | arrow       |
      | att-A-checkout-C1-v1 | provisional |
      | att-A-checkout-C2-v1 | complete    |
    And the arrow "A-checkout" is complete

  Scenario Outline: Passing a clause and saying what was looked at
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer | locations   | note   |
      | C1     | pass   | <locations> | <note> |
    Then the record "att-A-checkout-C1-v1" says:
      | unit              | <unit>    |
      | unit_payload_json | <payload> |
    And the clause C1 of "A-checkout" is pass

    Examples:
      | locations        | note      | unit                       | payload                                                      |
      |                  |           | confirm                    | {}                                                           |
      | src/cart.rs:1-9  |           | record-locations-inspected | {"inspected":["src/cart.rs:1-9"]}                            |
      | src/a.rs, README |           | record-locations-inspected | {"inspected":["src/a.rs","README"]}                          |
      |                  | as agreed | write-residue-note         | {"residue":"as agreed"}                                      |
      | src/a.rs:7       | see there | write-residue-note         | {"inspected":["src/a.rs:7"],"residue":"see there"}           |

  Scenario Outline: Failing a clause blocks the arrow, and the producer is told where
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer | locations   | note   |
      | C1     | fail   | <locations> | <note> |
    Then the clause C1 of "A-checkout" is fail
    And the arrow "A-checkout" is blocked
    And the producer was told of "att-A-checkout-C1-v1", with the locations "<locations>"
    And these were told, in this order:
      | attestation-requested |
      | attestation-recorded  |
      | clause-fail-verdict   |
    And the findings are:
      | clause | type         | status | detail   |
      | C1     | fail-verdict | open   | <detail> |
    And still waiting, in this order: "C2"

    Examples:
      | locations                                  | note          | detail                                                 |
      | features/payment.feature:42-50             |               | features/payment.feature:42-50                         |
      | features/payment.feature:42, src/pay.rs:10 |               | features/payment.feature:42, src/pay.rs:10             |
      | features/payment.feature:42                | no amount set | features/payment.feature:42: no amount set             |

  Scenario: A blocked arrow closes its pass when nothing in it waits any more
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer | locations |
      | C1     | fail   | src/a.rs  |
      | C2     | pass   |           |
    Then the arrow "A-checkout" is blocked
    And the passes are:
      | arrow      | status | reason |
      | A-checkout | closed |        |
    When the arrow "A-checkout" is dispatched again
    Then still waiting, in this order: "C1"
    And the clause C1 of "A-checkout" waits for round 2
    And the passes are:
      | arrow      | status | reason |
      | A-checkout | closed |        |
      | A-checkout | open   |        |

  Scenario Outline: Without a basis to judge by, the clause waits
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer             | locations   | note             |
      | C1     | insufficient-basis | <locations> | no amounts given |
      | C2     | pass               |             |                  |
    Then the record "att-A-checkout-C1-v1" says:
      | verdict           | insufficient-basis |
      | unit              | write-residue-note |
      | unit_payload_json | <payload>          |
    And the clause C1 of "A-checkout" is pending
    And the clause C1 of "A-checkout" waits for round 2
    And the arrow "A-checkout" is provisional
    And the passes are:
      | arrow      | status | reason |
      | A-checkout | open   |        |
    And insufficient-basis-rounds-exceeded was told never

    Examples:
      | locations | payload                                                   |
      |           | {"residue":"no amounts given"}                            |
      | src/a.rs  | {"inspected":["src/a.rs"],"residue":"no amounts given"}   |

  Scenario: The arrow's standing is worked out from its clauses, never set
    When the arrow "A-checkout" is dispatched
    Then the arrow "A-checkout" is provisional
    When the operator answers:
      | clause | answer             | note    |
      | C1     | insufficient-basis | unclear |
      | C2     | pass               |         |
    Then the arrow "A-checkout" is provisional
    When at the next turn the operator answers:
      | clause | answer |
      | C1     | pass   |
    Then the arrow "A-checkout" is complete
    When the grid moves on to the next version
    And the session dies
    And a new session starts
    Then the arrow "A-checkout" is unevaluated

  Scenario: The next round is asked at the next turn, and tells what was said before
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer             | note    |
      | C1     | insufficient-basis | unclear |
      | C2     | pass               |         |
    Then it is done
    And the questions were:
      | clause | round | earlier |
      | C1     | 1     |         |
      | C2     | 1     |         |
    When at the next turn the operator answers:
      | clause | answer |
      | C1     | pass   |
    Then the questions were:
      | clause | round | earlier            |
      | C1     | 2     | insufficient-basis |
    And the records are, oldest first:
      | attestation_id          | verdict            |
      | att-A-checkout-C1-v1    | insufficient-basis |
      | att-A-checkout-C2-v1    | pass               |
      | att-A-checkout-C1-v1.r2 | pass               |
