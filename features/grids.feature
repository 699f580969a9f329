Feature: What a project declares
  A grid that says something it cannot mean is refused whole, with the line,
  and no session starts on it.

  Scenario Outline: The number of rounds has to be a positive integer
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And the grid says "insufficient-basis-rounds-max: <value>"
    When a session starts
    Then it is refused: "<code>"
    And the refusal says "grid.v1.yaml:2"
    And nothing was made beside the grid

    Examples:
      | value | code                                         |
      | three | insufficient-basis-rounds-max-must-be-integer |
      | 2.5   | insufficient-basis-rounds-max-must-be-integer |
      | "3"   | insufficient-basis-rounds-max-must-be-integer |
      | 0x3   | insufficient-basis-rounds-max-must-be-integer |
      | true  | insufficient-basis-rounds-max-must-be-integer |
      | [3]   | insufficient-basis-rounds-max-must-be-integer |
      | null  | insufficient-basis-rounds-max-must-be-integer |
      | 1e1   | insufficient-basis-rounds-max-must-be-integer |
      | 0     | insufficient-basis-rounds-max-must-be-positive |
      | -1    | insufficient-basis-rounds-max-must-be-positive |
      | -3    | insufficient-basis-rounds-max-must-be-positive |

  Scenario Outline: Other limits are held to the same
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And the grid says "<setting>"
    When a session starts
    Then it is refused: "<code>"

    Examples:
      | setting                     | code                                    |
      | residue-note-max-bytes: big | residue-note-max-bytes-must-be-integer  |
      | residue-note-max-bytes: 0   | residue-note-max-bytes-must-be-positive |
      | modal-pending-max-len: 1.5  | modal-pending-max-len-must-be-integer   |
      | modal-pending-max-len: -64  | modal-pending-max-len-must-be-positive  |

  Scenario Outline: A grid in good order is taken
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And the grid says "insufficient-basis-rounds-max: <value>"
    When a session starts
    Then it is done
    And the arrow "A-checkout" is unevaluated

    Examples:
      | value      |
      | 1          |
      | 3          |
      | 4294967295 |

  Scenario: A bad next version does not disturb what is on record
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And "alice" is at the desk
    And the arrow "A-checkout" was dispatched
    And the operator answered:
      | clause | answer |
      | C1     | pass   |
    And the trail was looked at
    When the session dies
    And the next grid says "insufficient-basis-rounds-max: none"
    And the grid moves on to the next version
    And a new session starts
    Then it is refused: "insufficient-basis-rounds-max-must-be-integer"
    And the trail is what it was

  Scenario: An arrow nobody declared
    Given a project with the arrow "A-checkout" over the clauses "C1"
    When the arrow "A-chekout" is dispatched
    Then it is refused: "arrow-unknown"
    And the refusal says "A-checkout"
    And pass-opened was told never

  Scenario Outline: One piece of work at a time for a role in a context
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And another arrow "A-refund" over the clauses "R1"
    And the arrow "A-refund" leads from "<source>" to "tester" in "<context>", stratum "code"
    When the arrow "A-checkout" is dispatched
    And the arrow "A-refund" is dispatched
    Then <outcome>

    Examples:
      | source    | context  | outcome                            |
      | analyst   | checkout | it is refused: "role-context-busy" |
      | analyst   | refund   | it is done                         |
      | architect | checkout | it is done                         |

  Scenario: Busy until the first piece of work is decided
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And another arrow "A-refund" over the clauses "R1"
    And "alice" is at the desk
    When the arrow "A-checkout" is dispatched
    And the arrow "A-refund" is dispatched
    Then it is refused: "role-context-busy"
    And the refusal says "A-checkout"
    And the refusal says "«pass»"
    When the operator answers:
      | clause | answer |
      | C1     | pass   |
    And the arrow "A-refund" is dispatched
    Then it is done
    And the passes are:
      | arrow      | status | reason |
      | A-checkout | closed |        |
      | A-refund   | open   |        |

  Scenario: A pass that the grid has left behind is over when its arrow is dispatched again
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And "alice" is at the desk
    And the arrow "A-checkout" was dispatched
    When the session dies
    And the grid moves on to the next version
    And a new session starts
    And the arrow "A-checkout" is dispatched again
    Then the passes are:
      | arrow      | status  | reason       |
      | A-checkout | aborted | grid-changed |
      | A-checkout | open    |              |
    When "alice" answers:
      | clause | answer |
      | C1     | pass   |
    Then the questions were:
      | ref                  | grid |
      | att-A-checkout-C1-v2 | 2    |
    And the record "att-A-checkout-C1-v2" stands in "v2/checkout/stratum-behaviour/analyst__architect/«pass 2».jsonl"

  Scenario: A project begins with one arrow to be put into its own words
    When the program is run: init
    Then it exits with 0
    When the program is run: grid check .ghyll/grid.v1.yaml --json
    Then it exits with 0
    And it prints, among others:
      | /ok     | true |
      | /arrows | 1    |
    When the program is run: dispatch A-review
    Then it exits with 1
    When the program is run: init
    Then it exits with 3
    And it complains: "error[project-already-initialised]"
    And it complains: "ghyll grid next FILE"

  Scenario: Or with the grid of the shop, or one's own
    When the program is run: init --dir shop --example --json
    Then it exits with 0
    And it prints, among others:
      | /arrows | 4 |
    Given the file "own.yaml":
      """
      # ours
      version: 8
      arrows:
        - {id: A, source-role: a, target-role: b, stratum: s, context: c, clauses: [{id: C, concept: c, eval: attested}]}
      """
    When the program is run: init --grid own.yaml
    Then it exits with 0
    And the file ".ghyll/grid.v1.yaml" is:
      """
      # ours
      version: 1
      arrows:
        - {id: A, source-role: a, target-role: b, stratum: s, context: c, clauses: [{id: C, concept: c, eval: attested}]}
      """

  Scenario Outline: A grid that is none makes no project
    Given the file "bad.yaml":
      """
      arrows: []
      """
    When the program is run: init --grid <file>
    Then it exits with 3
    And it complains: "error[<code>]"
    And there is no file ".ghyll"

    Examples:
      | file         | code              |
      | bad.yaml     | grid-arrows-empty |
      | /dev/zero    | grid-not-a-file   |
      | nowhere.yaml | grid-read-failed  |

  Scenario: The next version of the grid
    When the program is run: init
    Given the file "draft.yaml":
      """
      # What we agreed on in May.
      version: 1     # set by ghyll
      arrows:
        - id: A-review
          source-role: author
          target-role: reviewer
          stratum: code
          context: project
          covers: ["src/**", "!src/generated/**"]
          clauses:
            - {id: C1, concept: The change does what was asked for, eval: attested}
            - {id: C2, concept: The tests pass, eval: machine, run: [make, test]}
      """
    When the program is run: grid diff draft.yaml
    Then it exits with 0
    And it prints these lines:
      """
      A-review: covers is now ["src/**", "!src/generated/**"]; it was not set
      A-review/C1: concept was "The change does what was asked for, and nothing else", is now "The change does what was asked for"
      A-review/C2: added: machine, "The tests pass"
      """
    When the program is run: grid next draft.yaml --json
    Then it exits with 0
    And it prints, among others:
      | /grid_version     | 2        |
      | /before           | 1        |
      | /changes/2/arrow  | A-review |
      | /changes/2/clause | C2       |
      | /changes/2/what   | added    |
    And the file ".ghyll/grid.v2.yaml" is:
      """
      # What we agreed on in May.
      version: 2     # set by ghyll
      arrows:
        - id: A-review
          source-role: author
          target-role: reviewer
          stratum: code
          context: project
          covers: ["src/**", "!src/generated/**"]
          clauses:
            - {id: C1, concept: The change does what was asked for, eval: attested}
            - {id: C2, concept: The tests pass, eval: machine, run: [make, test]}
      """
    When the program is run: grid next draft.yaml
    Then it exits with 3
    And it complains: "error[grid-unchanged]"
    When the program is run: grid show --json
    Then it prints, among others:
      | /version             | 2                |
      | /in_force            | true             |
      | /arrows/0/covers/1   | !src/generated/** |
    When the program is run: grid diff 1 2 --json
    Then it prints, among others:
      | /changes/0/what | covers  |
      | /changes/0/to/0 | src/**  |

  Scenario: A clause that an agent drops is named
    When the program is run: init --example
    Given the file "draft.yaml":
      """
      arrows:
        - id: A-checkout
          source-role: analyst
          target-role: architect
          stratum: behaviour
          context: checkout
          clauses:
            - {id: C1, concept: Every way a checkout can end is described, eval: attested, depth: scenario}
            - {id: C3, concept: Nothing in the features contradicts the glossary, eval: attested, min-tier: 1}
      """
    When the program is run: grid diff draft.yaml
    Then it prints these lines:
      """
      A-checkout/C2: dropped: attested, "The payment scenarios name the amounts they are about"
      A-design: dropped: from "architect" to "implementer", over C1, C2
      A-payment: dropped: from "implementer" to "reviewer", over M1, M2, C1, C2
      A-refund: dropped: from "analyst" to "architect", over M1, C1, C2
      """

  Scenario Outline: What cannot be covered, or told apart, is refused with its line
    Given the file "draft.yaml":
      """
      arrows:
        - id: A
          source-role: analyst
          target-role: architect
          stratum: behaviour
          context: checkout
          covers: [<covers>]
          clauses: [{id: C, concept: c, eval: attested}]
        - id: B
          source-role: analyst
          target-role: architect
          stratum: behaviour
          context: <context>
          clauses: [{id: C, concept: c, eval: attested}]
      """
    When the program is run: grid check draft.yaml --json
    Then it exits with 1
    And it prints, among others:
      | /ok              | false  |
      | /problems/0/line | <line> |
      | /problems/0/code | <code> |
    When the program is run: init --grid draft.yaml
    Then it exits with 3
    And it complains: "error[<code>]"
    And there is no file ".ghyll"

    Examples:
      | covers      | context         | line | code                       |
      | ../x        | refunds         | 7    | grid-cover-invalid         |
      | /etc/passwd | refunds         | 7    | grid-cover-invalid         |
      | '[a'        | refunds         | 7    | grid-cover-invalid         |
      | '!src/**'   | refunds         | 7    | grid-covers-empty          |
      |             | refunds         | 7    | grid-covers-empty          |
      | src/**      | Checkout        | 13   | grid-path-collision        |
      | src/**      | "refunds\\uFFF9" | 13   | grid-id-invalid-characters |

  Scenario: A pointer that git gave another line end is read
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And its grid is on disk
    And the pointer ends its line the other way
    When the program is run: arrow list
    Then it exits with 0

  Scenario: An existing project is told to git, and what was written there stays
    Given a project with the arrow "A-checkout" over the clauses "C1"
    And its grid is on disk
    And the file ".ghyll/.gitignore":
      """
      /notes/
      """
    When the program is run: init --git --json
    Then it exits with 0
    And it prints, among others:
      | /git/0/name | .gitignore     |
      | /git/0/done | extended       |
      | /git/1/name | .gitattributes |
      | /git/1/done | written        |
    When the program is run: init --git --json
    Then it prints, among others:
      | /git/0/done | nothing |
      | /git/1/done | nothing |
