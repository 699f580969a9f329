Feature: Too many rounds without a basis end in an escalation
  When a clause cannot be judged again and again, somebody has to accept the
  risk or send the work back; it is never decided by leaving the room.

  Background:
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And "alice" is at the desk

  Scenario: The third round is followed by the escalation, in the same turn
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer             | note   |
      | C1     | insufficient-basis | first  |
    And at the next turn the operator answers:
      | clause | answer             | note   |
      | C1     | insufficient-basis | second |
    Then insufficient-basis-rounds-exceeded was told never
    When at the next turn the operator answers:
      | clause | answer             | note   |
      | C1     | insufficient-basis | third  |
      | C1     | leave              |        |
    Then the questions were:
      | clause | kind       | round | earlier                                                    |
      | C1     | verdict    | 3     | insufficient-basis, insufficient-basis                     |
      | C1     | escalation | 4     | insufficient-basis, insufficient-basis, insufficient-basis |
    And insufficient-basis-rounds-exceeded was told once
    And the arrow "A-checkout" is provisional
    And still waiting, in this order: "C1"

  Scenario Outline: How many rounds there may be is the grid's to say
    Given the grid says "insufficient-basis-rounds-max: <max>"
    When the arrow "A-checkout" is dispatched
    And "alice" attests:
      | ref                  | verdict            | note |
      | att-A-checkout-C1-v1 | insufficient-basis | one  |
    And <more> more rounds go without a basis
    And at the next turn the operator answers:
      | clause | answer            | note           |
      | C1     | 1: accept the risk | nothing depends on it |
    Then the questions were:
      | clause | kind       | round  |
      | C1     | escalation | <last> |
    And insufficient-basis-rounds-exceeded was told once

    Examples:
      | max | more | last |
      | 1   | 0    | 2    |
      | 2   | 1    | 3    |
      | 5   | 4    | 6    |

  Scenario: Accepting the risk on the third round
    Given the clause C1 of "A-checkout" went three rounds without a basis
    When the operator answers:
      | clause | answer             | note                       |
      | C1     | 1: accept the risk | refunds are done by hand   |
    Then the record "att-A-checkout-C1-v1.r4" says:
      | verdict           | accepted-risk                          |
      | op_id             | alice                                  |
      | unit              | write-residue-note                     |
      | unit_payload_json | {"residue":"refunds are done by hand"} |
    And the findings are:
      | clause | type               | status        | by                      |
      | C1     | insufficient-basis | accepted-risk | att-A-checkout-C1-v1.r4 |
    And the clause C1 of "A-checkout" is pass
    And the arrow "A-checkout" is complete
    And these were told, in this order:
      | insufficient-basis-rounds-exceeded |
      | escalation-presented               |
      | attestation-recorded               |
      | escalation-resolved                |
    And escalation-presented was told once
    And escalation-resolved was told once
    And the passes are:
      | arrow      | status | reason |
      | A-checkout | closed |        |

  Scenario: Accepting the risk disposes of the defect that was open
    Given the arrow "A-checkout" was dispatched
    And "alice" attested:
      | ref                  | verdict | locations |
      | att-A-checkout-C1-v1 | fail    | src/a.rs  |
    And the arrow "A-checkout" was dispatched
    When 3 more rounds go without a basis
    And at the next turn the operator answers:
      | clause | answer             | note   |
      | C1     | 1: accept the risk | known  |
    Then the findings are:
      | clause | type         | status        |
      | C1     | fail-verdict | accepted-risk |
    And the clause C1 of "A-checkout" is pass

  Scenario: Of several defects one is accepted at a time
    Given the arrow "A-checkout" was dispatched
    And "alice" attested:
      | ref                  | verdict | locations |
      | att-A-checkout-C1-v1 | fail    | src/a.rs  |
      | att-A-checkout-C1-v1 | fail    | src/b.rs  |
    And the arrow "A-checkout" was dispatched
    When 3 more rounds go without a basis
    And at the next turn the operator answers:
      | clause | answer             | note  |
      | C1     | 1: accept the risk | known |
    Then the findings are:
      | clause | detail   | status        |
      | C1     | src/a.rs | accepted-risk |
      | C1     | src/b.rs | open          |
    And the clause C1 of "A-checkout" is pending
    And the arrow "A-checkout" is provisional
    When at the next turn the operator answers:
      | clause | answer |
      | C1     | pass   |
    Then the questions were:
      | clause | kind    |
      | C1     | verdict |
    And the arrow "A-checkout" is complete

  Scenario: Sending the work back upstream
    Given the clause C1 of "A-checkout" went three rounds without a basis
    When the operator answers:
      | clause | answer            | note                          |
      | C1     | 2: route upstream | the scenarios name no amounts |
    Then the record "att-A-checkout-C1-v1.r4" says:
      | verdict           | route-upstream                              |
      | unit_payload_json | {"residue":"the scenarios name no amounts"} |
    And the passes are:
      | arrow      | status  | reason                   |
      | A-checkout | aborted | requires-deeper-artifact |
    And the arrow "A-checkout" is unevaluated
    And nothing waits any more
    When the arrow "A-checkout" is dispatched again
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
    Then the questions were:
      | clause | kind    | round | deeper |
      | C1     | verdict | 5     | 1      |
    And the record "att-A-checkout-C1-v1.r5" stands in "v1/checkout/stratum-behaviour/analyst__architect/«pass 2».jsonl"
    And the arrow "A-checkout" is complete

  Scenario: Sent back twice is two tiers deeper
    Given the grid says "insufficient-basis-rounds-max: 1"
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer             | note    |
      | C1     | insufficient-basis | shallow |
      | C1     | 2: route upstream  | deeper  |
    And the arrow "A-checkout" is dispatched again
    And the operator answers:
      | clause | answer             | note          |
      | C1     | insufficient-basis | still shallow |
      | C1     | 2: route upstream  | deeper yet    |
    And the arrow "A-checkout" is dispatched again
    And a turn comes and nobody answers
    Then the questions were:
      | clause | deeper |
      | C1     | 2      |
    And escalation-presented was told twice
    And escalation-resolved was told twice

  Scenario Outline: Any other verdict in between starts the count again
    Given the arrow "A-checkout" was dispatched
    And 2 more rounds go without a basis
    And "alice" attested:
      | ref                  | verdict   | locations   |
      | att-A-checkout-C1-v1 | <verdict> | <locations> |
    When the arrow "A-checkout" is dispatched again
    And "alice" attests:
      | ref                  | verdict            | note  |
      | att-A-checkout-C1-v1 | insufficient-basis | again |
    Then insufficient-basis-rounds-exceeded was told never
    And the clause C1 of "A-checkout" is pending

    Examples:
      | verdict | locations |
      | pass    |           |
      | fail    | src/a.rs  |

  Scenario: The count is kept for each clause
    Given another arrow "A-refund" over the clauses "R1, R2"
    And the arrow "A-refund" is in the context "refund"
    When the arrow "A-refund" is dispatched
    And the operator answers:
      | clause | answer             | note |
      | R1     | insufficient-basis | no   |
      | R2     | insufficient-basis | no   |
    And at the next turn the operator answers:
      | clause | answer             | note |
      | R1     | insufficient-basis | no   |
      | R2     | pass               |      |
    Then insufficient-basis-rounds-exceeded was told never
    When at the next turn the operator answers:
      | clause | answer             | note |
      | R1     | insufficient-basis | no   |
      | R1     | leave              |      |
    Then the questions were:
      | clause | kind       |
      | R1     | verdict    |
      | R1     | escalation |

  Scenario Outline: An escalation cannot be walked away from
    Given the clause C1 of "A-checkout" went three rounds without a basis
    When the operator answers:
      | clause | answer |
      | C1     | leave  |
    Then it is refused: "modal-left"
    And the questions were:
      | clause | kind       |
      | C1     | escalation |
    When "alice" attests:
      | ref                  | verdict   | locations   | note   |
      | att-A-checkout-C1-v1 | <verdict> | <locations> | <note> |
    Then it is refused: "escalation-due"
    And still waiting, in this order: "C1"
    And modal-skipped was told never
    And 3 records are on the trail
    When at the next turn the operator answers:
      | clause | answer             | note  |
      | C1     | 1: accept the risk | known |
    Then the questions were:
      | clause | kind       |
      | C1     | escalation |
    And the arrow "A-checkout" is complete
    And the escalations ended, in this order:
      | unresolved    |
      | accepted-risk |

    Examples:
      | verdict            | locations | note       |
      | pass               |           |            |
      | fail               | src/a.rs  |            |
      | insufficient-basis |           | once again |

  Scenario Outline: Where none is due its verdicts are not taken
    Given the arrow "A-checkout" was dispatched
    And <rounds> more rounds go without a basis
    When "alice" attests:
      | ref                  | verdict   | note  |
      | att-A-checkout-C1-v1 | <verdict> | known |
    Then it is refused: "escalation-not-due"
    And <rounds> records are on the trail

    Examples:
      | rounds | verdict        |
      | 0      | accepted-risk  |
      | 2      | accepted-risk  |
      | 0      | route-upstream |
      | 2      | route-upstream |

  Scenario Outline: An escalation's answer needs its reasons
    Given the clause C1 of "A-checkout" went three rounds without a basis
    When the operator answers:
      | clause | answer   | note    |
      | C1     | <answer> | <note>  |
      | C1     | <answer> | because |
    Then the questions were:
      | clause | kind       | because | attempt |
      | C1     | escalation |         | 1       |
      | C1     | escalation | <code>  | 2       |
    And the record "att-A-checkout-C1-v1.r4" says:
      | verdict | <verdict> |
    And escalation-presented was told once
    And escalation-resolved was told once

    Examples:
      | answer             | note      | code                       | verdict        |
      | 1: accept the risk |           | verdict-unit-insufficient  | accepted-risk  |
      | 1: accept the risk | «blank»   | verdict-unit-missing-field | accepted-risk  |
      | 1: accept the risk | «16385 x» | verdict-residue-too-long   | accepted-risk  |
      | 2: route upstream  |           | verdict-unit-insufficient  | route-upstream |
      | 2: route upstream  | «blank»   | verdict-unit-missing-field | route-upstream |
      | 2: route upstream  | «16385 x» | verdict-residue-too-long   | route-upstream |

  Scenario: The rounds are counted over restarts
    Given the arrow "A-checkout" was dispatched
    And 2 more rounds go without a basis
    When the session dies
    And a new session starts
    And "bob" answers:
      | clause | answer             | note  |
      | C1     | insufficient-basis | third |
      | C1     | leave              |       |
    Then the questions were:
      | clause | kind       | round |
      | C1     | verdict    | 3     |
      | C1     | escalation | 4     |
    And insufficient-basis-rounds-exceeded was told once

  Scenario Outline: What had to be escalated still has to after a restart
    Given the clause C1 of "A-checkout" went three rounds without a basis
    When a turn comes and nobody answers
    And the session dies
    And a new session starts
    And "bob" answers:
      | clause | answer   | note  |
      | C1     | <answer> | known |
    Then the questions were:
      | clause | kind       | round |
      | C1     | escalation | 4     |
    And the record "att-A-checkout-C1-v1.r4" says:
      | verdict | <verdict> |
      | op_id   | bob       |
    And the arrow "A-checkout" is <status>

    Examples:
      | answer             | verdict        | status      |
      | 1: accept the risk | accepted-risk  | complete    |
      | 2: route upstream  | route-upstream | unevaluated |

  Scenario: The risk accepted by command, while the escalation is on the screen, ends it
    Given the clause C1 of "A-checkout" went three rounds without a basis
    When the operator answers:
      | clause | answer                | note  |
      | C1     | /attest accepted-risk | known |
    Then the escalations ended, in this order:
      | accepted-risk |
    And the arrow "A-checkout" is complete
    And nothing waits any more
