FROM (VALUES
    ('A4719', NULL, '"y set" tubing for peritoneal dialysis', '"y set" tubing'),
    ('A6448', NULL, 'Light compression bandage, width less than three inches, per yard', 'Lt compres band <3"/yd'),
    ('93454', 9, 'Synthetic title', 'Cardiovascular'),
    ('TD   ', NULL, 'Rn', 'Rn')
) AS codes(code, category, long_description, short_description)
