SELECT subject_id || '-' || (key % 4096) AS poe_id, key % 4096 AS poe_seq, subject_id, hadm_id, ts(at_s - 900) AS ordertime, 'Medications' AS order_type, NULL AS order_subtype,
    'New' AS transaction_type, NULL AS discontinue_of_poe_id, NULL AS discontinued_by_poe_id, 'PSYN' || (key % 400) AS order_provider_id, 'Inactive' AS order_status
FROM drug_order ORDER BY pharmacy_id
