Feature: A verdict needs its evidence
  An answer without the evidence it needs is not taken. The operator is told
  why and asked again; the request is never lost.

  Background:
    Given a project with the arrow "A-checkout" over the clauses "C1, C2"
    And "alice" is at the desk

  Scenario Outline: What is missing is said, and the question put again
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer   | locations   | note   |
      | C1     | <answer> | <locations> | <note> |
      | C1     | pass     |             |        |
      | C2     | leave    |             |        |
    Then the questions were:
      | clause | because | attempt |
      | C1     |         | 1       |
      | C1     | <code>  | 2       |
      | C2     |         | 1       |
    And the records are, oldest first:
      | attestation_id       | verdict |
      | att-A-checkout-C1-v1 | pass    |

    Examples:
      | answer             | locations        | note         | code                       |
      | fail               |                  |              | verdict-unit-insufficient  |
      | fail               | «blank»          |              | verdict-inspected-empty    |
      | fail               | «blank»,«blank»  |              | verdict-inspected-empty    |
      | insufficient-basis |                  |              | verdict-unit-insufficient  |
      | insufficient-basis | src/a.rs         |              | verdict-unit-insufficient  |
      | insufficient-basis |                  | «blank»      | verdict-unit-missing-field |
      | insufficient-basis | src/a.rs         | «blank»      | verdict-unit-missing-field |
      | fail               | src/a.rs         | «blank»      | verdict-unit-missing-field |
      | pass               |                  | «blank»      | verdict-unit-missing-field |
      | insufficient-basis |                  | «16385 x»    | verdict-residue-too-long   |

  Scenario Outline: A note may be as long as the limit, to the byte
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer             | note   |
      | C1     | insufficient-basis | <note> |
    Then 1 record is on the trail
    And the record "att-A-checkout-C1-v1" says:
      | unit_payload_json | {"residue":"<note>"} |

    Examples:
      | note                 |
      | «16383 x»            |
      | «16384 x»            |
      | «8192 é»             |
      | «4096 🜍»             |
      | «16375 x»: 100 € |

  Scenario Outline: A note one byte too long is asked for again, and nothing recorded
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer             | note   |
      | C1     | insufficient-basis | <note> |
      | C1     | leave              |        |
    Then the questions were:
      | clause | because                  |
      | C1     |                          |
      | C1     | verdict-residue-too-long |
    And 0 records are on the trail
    And still waiting, in this order: "C1, C2"

    Examples:
      | note        |
      | «16385 x»   |
      | «8192 é»x   |
      | «4096 🜍»x   |
      | «1000000 x» |

  Scenario Outline: A project may set its own limit
    Given the grid says "residue-note-max-bytes: <limit>"
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer             | note       |
      | C1     | insufficient-basis | <too long> |
      | C1     | insufficient-basis | <fits>     |
      | C2     | leave              |            |
    Then the questions were:
      | clause | because                  | attempt |
      | C1     |                          | 1       |
      | C1     | verdict-residue-too-long | 2       |
      | C2     |                          | 1       |
    And the record "att-A-checkout-C1-v1" says:
      | unit_payload_json | {"residue":"<fits>"} |

    Examples:
      | limit | fits        | too long    |
      | 1     | x           | é           |
      | 64    | «64 x»      | «65 x»      |
      | 20000 | «20000 x»   | «20001 x»   |

  Scenario: Many wrong answers in a row lose nothing
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer             | locations | note      |
      | C1     | fail               |           |           |
      | C1     | fail               | «blank»   |           |
      | C1     | insufficient-basis |           | «blank»   |
      | C1     | insufficient-basis |           | «16385 x» |
      | C1     | fail               | src/a.rs  |           |
      | C2     | pass               |           |           |
    Then the questions were:
      | clause | because                    | attempt |
      | C1     |                            | 1       |
      | C1     | verdict-unit-insufficient  | 2       |
      | C1     | verdict-inspected-empty    | 3       |
      | C1     | verdict-unit-missing-field | 4       |
      | C1     | verdict-residue-too-long   | 5       |
      | C2     |                            | 1       |
    And 2 records are on the trail

  Scenario Outline: Evidence is kept to the character
    When the arrow "A-checkout" is dispatched
    And the operator answers:
      | clause | answer             | note   |
      | C1     | insufficient-basis | <note> |
    Then the record "att-A-checkout-C1-v1" says:
      | unit_payload_json | {"residue":"<kept>"} |

    Examples:
      | note                        | kept                        |
      | she said "no"               | she said \\"no\\"           |
      | a \\ b                      | a \\\\ b                    |
      | one«U+000A»two              | one\\ntwo                   |
      | «U+202E»txt.exe             | «U+202E»txt.exe             |
      | «U+001B»[2J                 | \\u001b[2J                  |
      | Größe: 3 ≥ 2                | Größe: 3 ≥ 2                |
