SELECT subject_id || '-' || (key % 4096) AS poe_id, key % 4096 AS poe_seq, subject_id, 'Indication' AS field_name, 'synthetic' AS field_value
FROM drug_order WHERE infection ORDER BY pharmacy_id
