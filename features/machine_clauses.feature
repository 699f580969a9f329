Feature: Some clauses are decided by a command
  A machine clause is decided by how its command ends, in the project's
  directory and within its time; no operator is asked about it.

  Scenario Outline: The command's end decides
    Given a project with the arrow "A-checkout" over the clauses "T1, C1"
    And the clause T1 of A-checkout is decided by this command, within <seconds> s:
      """
      <command>
      """
    And "alice" is at the desk
    When the arrow "A-checkout" is dispatched
    Then the clause T1 of "A-checkout" is <status>
    And the arrow "A-checkout" is <meanwhile>
    And still waiting, in this order: "C1"
    When the operator answers:
      | clause | answer |
      | C1     | pass   |
    Then the arrow "A-checkout" is <in the end>
    And 1 record is on the trail

    Examples:
      | command              | seconds | status | meanwhile   | in the end |
      | exit 0               | 10      | pass   | provisional | complete   |
      | test -d .ghyll       | 10      | pass   | provisional | complete   |
      | exit 1               | 10      | fail   | blocked     | blocked    |
      | exit 77              | 10      | fail   | blocked     | blocked    |
      | kill -9 $$           | 10      | fail   | blocked     | blocked    |
      | sleep 30             | 1       | fail   | blocked     | blocked    |
      | sleep 30 & sleep 30  | 1       | fail   | blocked     | blocked    |
      | trap '' 15; sleep 30 | 1       | fail   | blocked     | blocked    |

  Scenario: What the command said is kept with the defect
    Given a project with the arrow "A-checkout" over the clauses "T1"
    And the clause T1 of A-checkout is decided by this command, within 10 s:
      """
      echo two amounts missing; exit 3
      """
    When the arrow "A-checkout" is dispatched
    Then the findings are:
      | clause | type         | status |
      | T1     | machine-fail | open   |
    And a finding tells of "two amounts missing"
    And a finding tells of "exit status: 3"

  Scenario: A command that ran out of time says so
    Given a project with the arrow "A-checkout" over the clauses "T1"
    And the clause T1 of A-checkout is decided by this command, within 1 s:
      """
      sleep 30
      """
    When the arrow "A-checkout" is dispatched
    Then the arrow "A-checkout" is blocked
    And a finding tells of "not done after 1 s"

  Scenario: The work is mended and the command run again
    Given a project with the arrow "A-checkout" over the clauses "T1"
    And the clause T1 of A-checkout is decided by this command, within 10 s:
      """
      test -e mended
      """
    When the arrow "A-checkout" is dispatched
    Then the arrow "A-checkout" is blocked
    And the passes are:
      | arrow      | status | reason |
      | A-checkout | closed |        |
    When the file "mended" appears in the project
    And the arrow "A-checkout" is dispatched again
    Then the arrow "A-checkout" is complete
    And the findings are:
      | clause | type         | status   |
      | T1     | machine-fail | resolved |
    And the passes are:
      | arrow      | status | reason |
      | A-checkout | closed |        |
      | A-checkout | closed |        |

  Scenario: An arrow of machine clauses alone needs nobody
    Given a project with the arrow "A-checkout" over the clauses "T1, T2"
    And the clause T1 of A-checkout is decided by this command, within 10 s:
      """
      exit 0
      """
    And the clause T2 of A-checkout is decided by this command, within 10 s:
      """
      exit 0
      """
    When the arrow "A-checkout" is dispatched
    Then the arrow "A-checkout" is complete
    And nothing waits any more
    And attestation-requested was told never
    And 0 records are on the trail
