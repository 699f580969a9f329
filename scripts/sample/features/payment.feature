Feature: Payment
  Money moves when an order is placed, and at no other time.

  Background:
    Given an open order of 25.00 EUR

  Scenario: A card is charged
    When the customer pays by card
    Then the card is charged 25.00 EUR
    And the order is placed

  Scenario: The bank refuses
    Given the bank refuses the card
    When the customer pays by card
    Then nothing is charged
    And the order is open
    And the customer may try another card

  Scenario: The bank does not answer
    Given the bank does not answer within 10 seconds
    When the customer pays by card
    Then the order is open
    And the charge is asked about again before it is repeated

  Scenario: The customer presses the button twice
    When the customer pays by card
    And the customer pays by card again
    Then the card is charged 25.00 EUR once

  Scenario: A voucher covers a part
    Given a voucher of 10.00 EUR
    When the customer pays by voucher and card
    Then the voucher is used up
    And the card is charged 15.00 EUR

  Scenario: A voucher covers everything
    Given a voucher of 40.00 EUR
    When the customer pays by voucher
    Then 15.00 EUR are left on the voucher
    And no card is charged

  Scenario: A discount applies
    Given a discount on the order
    When the customer pays by card
    Then the card is charged less
    And the invoice shows the discount

  Scenario: An order in another currency
    Given the customer pays in USD
    When the customer pays by card
    Then the card is charged what 25.00 EUR are today
    And the invoice shows the rate
