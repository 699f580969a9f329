Feature: The program
  The same promises on the command line, by the program as it is installed.

  Background:
    Given a project with the arrow "A-checkout" over the clauses "C1, C2"
    And its grid is on disk

  Scenario: From dispatch to done
    When the program is run: dispatch A-checkout
    Then it exits with 1
    When the program is run: attest att-A-checkout-C1-v1 pass --op-id alice@example.com
    Then it exits with 0
    When the program is run: attest att-A-checkout-C2-v1 fail --inspected features/payment.feature:42-50 --op-id bob@example.com
    Then it exits with 3
    And it complains: "error[location-unknown]"
    When the program is run: attest att-A-checkout-C2-v1 fail --inspected features/payment.feature:42-50 --keep --op-id bob@example.com
    Then it exits with 0
    When the program is run: arrow show A-checkout --json
    Then it exits with 0
    And it prints, among others:
      | /status           | blocked |
      | /clauses/0/id     | C1      |
      | /clauses/0/status | pass    |
      | /clauses/1/status | fail    |
      | /clauses/1/round  | 1       |
    When the program is run: attest att-A-checkout-C2-v1 pass --op-id bob@example.com
    And the program is run: arrow show A-checkout --json
    Then it prints, among others:
      | /status           | complete |
      | /clauses/1/round  | 2        |
    When the program is run: attestations --json
    Then it prints, among others:
      | /0/attestation_id    | att-A-checkout-C1-v1                            |
      | /1/attestation_id    | att-A-checkout-C2-v1                            |
      | /1/unit_payload_json | {"inspected":["features/payment.feature:42-50"]} |
      | /2/attestation_id    | att-A-checkout-C2-v1.r2                         |
      | /2/op_id             | bob@example.com                                 |
    When the program is run: engine verify-attestations --json
    Then it exits with 0
    And it prints, among others:
      | /ok | true |

  Scenario Outline: Refusals carry their code, and change nothing
    Given the program was run: dispatch A-checkout, and exited with 1
    When the program is run: <command>
    Then it exits with 3
    And it complains: "error[<code>]"
    And it prints nothing
    And there is no trail

    Examples:
      | command                                                      | code                        |
      | attest att-A-checkout-C1-v1 fail --op-id alice               | verdict-unit-insufficient   |
      | attest att-A-checkout-C1-v1 maybe --op-id alice              | attestation-verdict-invalid |
      | attest att-A-checkout-C1-v1 pass --op-id ../x                | op-id-invalid-characters    |
      | attest att-A-checkout-C1-v1 pass --op-id -x                  | op-id-invalid-characters    |
      | attest att-A-checkout-C9-v1 pass --op-id alice               | attestation-no-pass-for-ref |
      | dispatch A-refund                                            | arrow-unknown               |

  Scenario: A session at its prompt keeps nobody out
    Given the arrow "A-checkout" was dispatched
    When the program is run: dispatch A-checkout
    Then it exits with 1
    When the program is run: attest A-checkout/C1 pass --op-id bob
    Then it exits with 0
    And the clause C1 of "A-checkout" is pass
    And still waiting, in this order: "C2"

  Scenario Outline: Somebody writes, and everybody can still look
    Given the arrow "A-checkout" was dispatched
    And "alice" attested:
      | ref                  | verdict | locations |
      | att-A-checkout-C1-v1 | fail    | src/a.rs  |
    And somebody is in the middle of writing
    When the program is run: <command>
    Then it exits with 0
    And it says "<word>"
    When the program is run: <command> --json
    Then it exits with 0
    And it says "<word>"

    Examples:
      | command                    | word                    |
      | engine status              | pending                 |
      | engine verify-attestations | record                  |
      | engine checkpoint          | analyst__architect      |
      | arrow list                 | blocked                 |
      | arrow show A-checkout      | blocked                 |
      | attestations               | att-A-checkout-C1-v1    |
      | pending                    | att-A-checkout-C2-v1    |
      | findings                   | src/a.rs                |
      | passes                     | open                    |
      | grid show                  | A-checkout              |

  Scenario Outline: Somebody writes, and nobody else does
    Given the arrow "A-checkout" was dispatched
    And somebody is in the middle of writing
    When the program is run: <command>
    Then it exits with 3
    And it complains: "error[session-locked]"
    And there is no trail

    Examples:
      | command                           |
      | dispatch A-checkout               |
      | attest A-checkout/C1 pass --op-id bob |

  Scenario: Who cannot be asked again gives an escalation no wrong answer
    Given "alice" is at the desk
    And the arrow "A-checkout" was dispatched
    And 3 more rounds go without a basis
    When the session dies
    And the program is run with this typed: run --op-id alice
      """
      skip
      1
      a risk
      """
    Then it exits with 1
    And it complains: "Line 1 was given to"
    When a new session starts
    Then 3 records are on the trail
    When the program is run: pending --json
    Then it prints, among others:
      | /0/attestation_ref | att-A-checkout-C1-v1 |
      | /0/escalation      | true                 |

  Scenario Outline: A grid that cannot be meant stops the program too
    Given a project with the arrow "B" over the clauses "C1"
    And the grid says "insufficient-basis-rounds-max: <value>"
    And its grid is on disk
    When the program is run: dispatch A-checkout
    Then it exits with 3
    And it complains: "error[<code>]"

    Examples:
      | value | code                                           |
      | 2.5   | insufficient-basis-rounds-max-must-be-integer  |
      | 0     | insufficient-basis-rounds-max-must-be-positive |

  Scenario: A whole session typed in advance
    When the program is run with this typed: run --op-id alice
      """
      /run-arrow A-checkout
      f
      features/payment.feature:42

      /op-id bob
      p
      /exit
      """
    Then it exits with 0
    When the program is run: attestations --json
    Then it prints, among others:
      | /0/attestation_id | att-A-checkout-C1-v1 |
      | /0/verdict        | fail                 |
      | /0/op_id          | alice                |
      | /1/attestation_id | att-A-checkout-C2-v1 |
      | /1/verdict        | pass                 |
      | /1/op_id          | bob                  |

  Scenario: A session that is left half-way is taken up where it was
    When the program is run with this typed: run --op-id alice
      """
      /run-arrow A-checkout
      p
      """
    And the program is run with this typed: run --op-id bob
      """
      i
      no amounts are given
      """
    And the program is run: arrow show A-checkout --json
    Then it prints, among others:
      | /status           | provisional |
      | /clauses/0/status | pass        |
      | /clauses/1/status | pending     |
      | /clauses/1/round  | 2           |
    When the program is run: attestations --json
    Then it prints, among others:
      | /0/op_id             | alice                              |
      | /1/op_id             | bob                                |
      | /1/verdict           | insufficient-basis                 |
      | /1/unit_payload_json | {"residue":"no amounts are given"} |

  Scenario: Operators replayed from a script, twice to the same bytes
    Given the script "operators.rhai":
      """
      op_id("alice@example.com");
      run_arrow("A-checkout");
      expect(arrow_status("A-checkout") == "complete", "checkout is done");
      fn verdict(hint) { pass() }
      """
    When the program is run: replay operators.rhai --clock 2026-01-01T00:00:00Z --seed 7 --junit report.xml --json
    Then it exits with 0
    And it prints, among others:
      | /ok                     | true |
      | /scripts/0/expectations | 1    |
    And the report "report.xml" is JUnit without a failure, and names "checkout is done"
    And a second project replayed with the same clock and seed has the same trail
