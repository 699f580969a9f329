Feature: Operators written down
  A script answers as a person would, is held to the same rules, and leaves the
  same records; so CI can replay operators.

  Background:
    Given a project with the arrow "A-checkout" over the clauses "C1, C2"

  Scenario: A script decides an arrow
    When this script is replayed:
      """
      op_id("alice@example.com");
      run_arrow("A-checkout");
      say("go on");
      expect(arrow_status("A-checkout") == "blocked", "checkout is blocked");
      fn verdict(hint) {
          if hint.clause_id == "C2" { fail(["features/payment.feature:42-50"]) } else { pass() }
      }
      """
    Then it is done
    And the records are, oldest first:
      | attestation_id       | verdict | op_id             | unit_payload_json                              |
      | att-A-checkout-C1-v1 | pass    | alice@example.com | {}                                             |
      | att-A-checkout-C2-v1 | fail    | alice@example.com | {"inspected":["features/payment.feature:42-50"]} |
    And the record "att-A-checkout-C1-v1" stands in "v1/checkout/stratum-behaviour/analyst__architect/«its pass».jsonl"
    And the arrow "A-checkout" is blocked

  Scenario: A script brings the model that answers its chat turns
    When this script is replayed:
      """
      op_id("alice");
      expect(say("begin with A-checkout") == "1: begin with A-checkout", "the first turn");
      run_arrow("A-checkout");
      expect(say("go on") == "2: pass", "told of the fail, and its words decide nothing");
      fn verdict(hint) {
          if hint.clause_id == "C1" { fail(["a.feature:1"]) } else { skip() }
      }
      fn model(messages) {
          let last = messages[messages.len() - 1];
          if last.turn == 1 { return "1: " + last.content; }
          if messages[0].content.contains("a.feature:1") { "2: pass" } else { "2: not told" }
      }
      """
    Then it is done
    And the records are, oldest first:
      | attestation_id       | verdict | op_id |
      | att-A-checkout-C1-v1 | fail    | alice |
    And the arrow "A-checkout" is blocked

  Scenario: Two operators in one script, one pass
    When this script is replayed:
      """
      op_id("alice");
      run_arrow("A-checkout");
      op_id("bob");
      say("my turn");
      fn verdict(hint) {
          if hint.clause_id == "C1" || hint.op_id == "bob" { pass() } else { skip() }
      }
      """
    Then it is done
    And the records are, oldest first:
      | attestation_id       | op_id | pass_id    |
      | att-A-checkout-C1-v1 | alice | «its pass» |
      | att-A-checkout-C2-v1 | bob   | «its pass» |
    And the records share one file

  Scenario: A hand-over while the question is open
    When this script is replayed:
      """
      op_id("alice");
      run_arrow("A-checkout");
      fn verdict(hint) { op_id("bob"); pass() }
      """
    Then the records are, oldest first:
      | attestation_id       | op_id |
      | att-A-checkout-C1-v1 | bob   |
      | att-A-checkout-C2-v1 | bob   |

  Scenario Outline: Three rounds, then the escalation
    When this script is replayed:
      """
      op_id("alice");
      run_arrow("A-checkout");
      say("more");
      say("and more");
      expect(arrow_status("A-checkout") == "<status>", "where it stands");
      fn verdict(hint) {
          if hint.clause_id == "C1" { insufficient_basis("round " + hint.round) } else { pass() }
      }
      fn escalation(hint) { <answer> }
      """
    Then it is done
    And the record "att-A-checkout-C1-v1.r3" says:
      | verdict           | insufficient-basis    |
      | unit_payload_json | {"residue":"round 3"} |
    And the record "att-A-checkout-C1-v1.r4" says:
      | verdict           | <verdict>                     |
      | unit_payload_json | {"residue":"nobody can tell"} |
    And the arrow "A-checkout" is <status>

    Examples:
      | answer                            | verdict        | status      |
      | accept_risk("nobody can tell")    | accepted-risk  | complete    |
      | route_upstream("nobody can tell") | route-upstream | unevaluated |

  Scenario: The count outlives a restart
    When this script is replayed:
      """
      op_id("alice");
      run_arrow("A-checkout");
      restart();
      say("again");
      restart();
      say("and again");
      expect(events().contains("escalation-presented"), "it was escalated");
      expect(arrow_status("A-checkout") == "complete", "it is complete");
      fn verdict(hint) {
          if hint.clause_id == "C1" { insufficient_basis("unclear") } else { pass() }
      }
      fn escalation(hint) { accept_risk("known") }
      """
    Then it is done
    And the records are, oldest first:
      | attestation_id          | verdict            |
      | att-A-checkout-C1-v1    | insufficient-basis |
      | att-A-checkout-C2-v1    | pass               |
      | att-A-checkout-C1-v1.r2 | insufficient-basis |
      | att-A-checkout-C1-v1.r3 | insufficient-basis |
      | att-A-checkout-C1-v1.r4 | accepted-risk      |

  Scenario: Sent upstream, the next question is for a deeper artifact
    Given the grid says "insufficient-basis-rounds-max: 1"
    When this script is replayed:
      """
      op_id("alice");
      run_arrow("A-checkout");
      expect(passes()[0].reason == "requires-deeper-artifact", "the pass was given up");
      run_arrow("A-checkout");
      fn verdict(hint) {
          if hint.clause_id == "C1" && hint.deeper == 0 { insufficient_basis("shallow") }
          else { pass() }
      }
      fn escalation(hint) { route_upstream("needs amounts") }
      """
    Then it is done
    And the arrow "A-checkout" is complete

  Scenario Outline: An answer that is not taken is asked for again
    When this script is replayed:
      """
      op_id("alice");
      run_arrow("A-checkout");
      fn verdict(hint) {
          if hint.clause_id == "C2" { skip() }
          else if hint.rejected == "" { <first> }
          else { expect(hint.rejected == "<code>", "why: " + hint.rejected); pass() }
      }
      """
    Then it is done
    And the records are, oldest first:
      | attestation_id       | verdict |
      | att-A-checkout-C1-v1 | pass    |
    And still waiting, in this order: "C2"

    Examples:
      | first                     | code                       |
      | fail([])                  | verdict-unit-insufficient  |
      | fail([" "])               | verdict-inspected-empty    |
      | insufficient_basis("")    | verdict-unit-insufficient  |
      | insufficient_basis(" ")   | verdict-unit-missing-field |
      | { let n = "xxxxxxxx"; for i in 0..12 { n += n; } insufficient_basis(n) } | verdict-residue-too-long |

  Scenario: What a script leaves open stays open
    When this script is replayed:
      """
      op_id("alice");
      run_arrow("A-checkout");
      expect(pending().len() == 2, "both wait");
      """
    Then it is done
    And still waiting, in this order: "C1, C2"
    When "bob" answers:
      | clause | answer |
      | C1     | pass   |
      | C2     | pass   |
    Then the arrow "A-checkout" is complete

  Scenario: An escalation nobody wrote an answer for stays open
    Given the grid says "insufficient-basis-rounds-max: 1"
    When this script is replayed:
      """
      op_id("alice");
      run_arrow("A-checkout");
      fn verdict(hint) { insufficient_basis("unclear") }
      """
    Then it is refused: "script-escalation-missing"
    And the clause C1 of "A-checkout" is pending

  Scenario Outline: An expectation that fails, fails the script
    When this script is replayed:
      """
      <line>
      """
    Then it is refused: "<code>"
    And 0 records are on the trail

    Examples:
      | line                                                      | code                        |
      | expect(arrow_status("A-checkout") == "complete", "done"); | expectation                 |
      | op_id("bob smith");                                       | op-id-invalid-characters    |
      | run_arrow("A-chekout");                                   | arrow-unknown               |
      | op_id("a"); attest("att-A-checkout-C1-v1", "pass");       | attestation-no-pass-for-ref |
      | attest("att-A-checkout-C1-v1", "pass");                   | op-id-required              |
      | loop { }                                                  | script-limit-exceeded       |
      | eval("1");                                                | script-failed               |
      | import "x" as x;                                          | script-failed               |

  Scenario: A script's beginning of a project
    When this script is replayed:
      """
      op_id("alice");
      expect(init_attest() == 1, "one arrow");
      expect(init_attest() == 0, "once");
      """
    Then it is done
    And the record "att-A-checkout-v1" stands in "v1/init/stratum-init/init/«its pass».jsonl"
