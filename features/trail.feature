Feature: The audit trail
  Each verdict is one line in the one file its record names, and nothing there
  is ever changed.

  Scenario Outline: Where a verdict is filed
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And the arrow "A-checkout" leads from "<source>" to "<target>" in "<context>", stratum "<stratum>"
    And "alice" is at the desk
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
    Then the record "att-A-checkout-C1-v1" stands in "<directory>/«pass».jsonl"
    And the record "att-A-checkout-C1-v1" says:
      | context     | <context> |
      | stratum     | <stratum> |
      | source_role | <source>  |
      | target_role | <target>  |
      | reason      | via:terminal |
    And attestation-path-truncated was told never

    Examples:
      | source   | target    | context       | stratum   | directory                                          |
      | analyst  | architect | checkout      | behaviour | v1/checkout/stratum-behaviour/analyst__architect   |
      | analyst  | architect | checkout      | 1         | v1/checkout/stratum-1/analyst__architect           |
      | a b      | c:d       | checkout      | 1         | v1/checkout/stratum-1/a_b__c_d                     |
      | analyst  | architect | web/checkout  | 1         | v1/web_checkout/stratum-1/analyst__architect       |
      | analyst  | architect | a*b?c         | 1         | v1/a_b_c/stratum-1/analyst__architect              |
      | analyst  | architect | v1.2          | 1         | v1/v1.2/stratum-1/analyst__architect               |
      | analyst  | architect | the end.      | 1         | v1/the_end_/stratum-1/analyst__architect           |
      | analyst  | architect | «255 x»       | 1         | v1/«255 x»/stratum-1/analyst__architect            |
      | analyst  | architect | checkout      | «247 x»   | v1/checkout/stratum-«247 x»/analyst__architect     |

  Scenario Outline: With a role that doubts the work, all three are named
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And "<adversary>" doubts the work on "A-checkout"
    And "alice" is at the desk
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer   | locations   |
      | C1     | <answer> | <locations> |
    Then the record "att-A-checkout-C1-v1" stands in "v1/checkout/stratum-behaviour/analyst__<adversary>__architect/«pass».jsonl"
    And the record "att-A-checkout-C1-v1" says:
      | source_role    | analyst     |
      | adversary_role | <adversary> |
      | target_role    | architect   |

    Examples:
      | adversary | answer | locations |
      | critic    | pass   |           |
      | red-team  | fail   | src/a.rs  |

  Scenario Outline: A name the path cannot carry is replaced by its hash, and this is said
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And the arrow "A-checkout" leads from "analyst" to "architect" in "<context>", stratum "<stratum>"
    And "alice" is at the desk
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
    Then the record "att-A-checkout-C1-v1" stands in "<directory>/analyst__architect/«pass».jsonl"
    And the record "att-A-checkout-C1-v1" says:
      | context | <context> |
      | stratum | <stratum> |
      | reason  | via:terminal <reason> |
    And the truncation of "<segments>" was told
    And the arrow "A-checkout" is complete

    Examples:
      | context | stratum | directory                                                                        | reason                                         | segments         |
      | «256 x» | 1       | v1/h-85e62acd750c4eb56b7b6a1d66dca5bf/stratum-1                                  | path-truncated:context                         | context          |
      | CON     | 1       | v1/h-a3dbc4b644a9a2c51e74509ded5c46cc/stratum-1                                  | path-truncated:context                         | context          |
      | con.txt | 1       | v1/h-d3bde286fd271ed6d39388eff4859603/stratum-1                                  | path-truncated:context                         | context          |
      | über    | 1       | v1/h-b51c854170449c382397a108bc58403e/stratum-1                                  | path-truncated:context                         | context          |
      | .       | 1       | v1/h-cdb4ee2aea69cc6a83331bbe96dc2caa/stratum-1                                  | path-truncated:context                         | context          |
      | ..      | 1       | v1/h-5ec1f7e700f37c3d0b2981d04855fc34/stratum-1                                  | path-truncated:context                         | context          |
      | ok      | «248 x» | v1/ok/stratum-h-c7f9b244448c356a7c5c8310c9142aa3                                 | path-truncated:stratum                         | stratum          |
      | CON     | «248 x» | v1/h-a3dbc4b644a9a2c51e74509ded5c46cc/stratum-h-c7f9b244448c356a7c5c8310c9142aa3 | path-truncated:context path-truncated:stratum  | context, stratum |

  Scenario: Two names that share a directory lose nothing
    Given a project with the arrow "A" over the clauses "C1"
    And another arrow "B" over the clauses "C1"
    And the arrow "A" is in the context "a/b"
    And the arrow "B" is in the context "a_b"
    And "alice" is at the desk
    When the arrow "A" is dispatched
    And the arrow "B" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
      | C1     | pass   |
    Then the records are, oldest first:
      | attestation_id | context |
      | att-A-C1-v1    | a/b     |
      | att-B-C1-v1    | a_b     |
    And the record "att-A-C1-v1" stands in "v1/a_b/stratum-behaviour/analyst__architect/«pass 1».jsonl"
    And the record "att-B-C1-v1" stands in "v1/a_b/stratum-behaviour/analyst__architect/«pass 2».jsonl"

  Scenario: Two names that share a file lose nothing
    Given a project with the arrow "A" over the clauses "C1"
    And another arrow "B" over the clauses "C1"
    And the arrow "A" is in the context "a/b"
    And the arrow "B" is in the context "a_b"
    And "alice" is at the desk
    When the arrow "A" is dispatched
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
    And the record att-A-C1-v1 is on record for the arrow "B" too, as "att-B-C1-v1"
    Then it is done
    And the records share one file
    And the records are, oldest first:
      | attestation_id | context | pass_id |
      | att-A-C1-v1    | a/b     | «pass»  |
      | att-B-C1-v1    | a_b     | «pass»  |
    When the session dies
    And the index is deleted
    And a new session starts
    Then 2 records are on the trail
    And the arrow "A" is complete
    And the arrow "B" is complete

  Scenario: The project's beginning
    Given a project with the arrow "A-checkout" over the clauses "C1, C2"
    And another arrow "A-refund" over the clauses "R1"
    And the arrow "A-refund" is in the context "refund"
    When "alice" attests the project's beginning
    Then it is done
    And 2 records are on the trail
    And the record "att-A-checkout-v1" says:
      | kind             | on-the-spot |
      | clause_id        |             |
      | op_id            | alice       |
      | attested_by_role | init        |
      | verdict          | pass        |
      | context          | checkout    |
      | unit             | confirm     |
    And the record "att-A-checkout-v1" stands in "v1/init/stratum-init/init/«its pass».jsonl"
    And the record "att-A-refund-v1" stands in "v1/init/stratum-init/init/«its pass».jsonl"
    And the records share one file

  Scenario: Attesting the beginning again changes nothing
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And the project's beginning was attested by "alice"
    And the trail was looked at
    When "bob" attests the project's beginning again
    Then it is done
    And the trail is what it was
    And attestation-recorded was told once

  Scenario: What a new grid adds is attested by itself
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And the project's beginning was attested by "alice"
    When the session dies
    And the next grid adds the arrow "A-refund" over the clauses "R1", in "refund"
    And the grid moves on to the next version
    And a new session starts
    And "bob" attests the project's beginning
    Then the records are, oldest first:
      | attestation_id    | op_id | grid_version |
      | att-A-checkout-v1 | alice | 1            |
      | att-A-checkout-v2 | bob   | 2            |
      | att-A-refund-v2   | bob   | 2            |

  Scenario: Attesting the beginning decides no clause
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And the project's beginning was attested by "alice"
    Then the arrow "A-checkout" is unevaluated

  Scenario Outline: When the trail cannot be written, nothing happened
    Given a project with the arrow "A-checkout" over the clauses "C1, C2"
    And "alice" is at the desk
    And the arrow "A-checkout" was dispatched
    When the disk <fails>
    And the operator answers:
      | clause | answer   | locations   |
      | C1     | <answer> | <locations> |
      | C1     | leave    |             |
    Then the questions were:
      | clause | because                        |
      | C1     |                                |
      | C1     | attestation-audit-write-failed |
    And attestation-recorded was told never
    And clause-fail-verdict was told never
    And the clause C1 of "A-checkout" is pending
    And still waiting, in this order: "C1, C2"
    When the disk is well again
    And at the next turn the operator answers:
      | clause | answer   | locations   |
      | C1     | <answer> | <locations> |
    Then the records are, oldest first:
      | attestation_id       | verdict  |
      | att-A-checkout-C1-v1 | <answer> |
    And attestation-recorded was told once

    Examples:
      | fails                     | answer | locations |
      | is full                   | pass   |           |
      | is full                   | fail   | src/a.rs  |
      | takes half of a line      | pass   |           |
      | takes half of a line      | fail   | src/a.rs  |
      | cannot make bytes durable | pass   |           |
      | cannot make bytes durable | fail   | src/a.rs  |

  Scenario Outline: A trail that fails later on keeps what it had
    Given a project with the arrow "A-checkout" over the clauses "C1, C2"
    And "alice" is at the desk
    And the arrow "A-checkout" was dispatched
    And the operator answered:
      | clause | answer |
      | C1     | pass   |
    And the trail was looked at
    When the disk <fails>
    And the operator answers:
      | clause | answer |
      | C2     | pass   |
      | C2     | leave  |
    And the disk is well again
    And at the next turn the operator answers:
      | clause | answer |
      | C2     | pass   |
    Then the trail has only grown
    And 2 records are on the trail

    Examples:
      | fails                     |
      | is full                   |
      | takes half of a line      |
      | cannot make bytes durable |

  Scenario: Something else stands where the pass's file belongs
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And "alice" is at the desk
    And the arrow "A-checkout" was dispatched
    When a directory is put where the pass's file belongs
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
      | C1     | leave  |
    Then the questions were:
      | clause | because                        |
      | C1     |                                |
      | C1     | attestation-audit-write-failed |
    And the arrow "A-checkout" is provisional
    And attestation-recorded was told never
    When the directory is taken away
    And at the next turn the operator answers:
      | clause | answer |
      | C1     | pass   |
    Then the arrow "A-checkout" is complete
    And 1 record is on the trail

  Scenario: A flat file that cannot be written undoes nothing
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And "alice" is at the desk
    And the arrow "A-checkout" was dispatched
    When the flat file cannot be written
    And the operator answers:
      | clause | answer |
      | C1     | pass   |
    Then it is done
    And these were told, in this order:
      | attestation-audit-durability-failed |
      | attestation-recorded                |
    And the arrow "A-checkout" is complete
    When the disk is well again
    And the session dies
    And a new session starts
    Then 1 record is on the trail
