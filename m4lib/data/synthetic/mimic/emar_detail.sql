SELECT subject_id, subject_id || '-' || (key % 4096 * 4) AS emar_id, key % 4096 * 4 AS emar_seq, '1.10' AS parent_field_ordinal, 'Standard Maintenance Medication' AS administration_type,
    pharmacy_id, 'if' AS barcode_type, NULL AS reason_for_no_barcode, NULL AS complete_dose_not_given, '1' AS dose_due, 'g' AS dose_due_unit, '1' AS dose_given, 'g' AS dose_given_unit,
    NULL AS will_remainder_of_dose_be_given, '1' AS product_amount_given, 'VIAL' AS product_unit, NULL AS product_code, drug AS product_description, NULL AS product_description_other,
    NULL AS prior_infusion_rate, NULL AS infusion_rate, NULL AS infusion_rate_adjustment, NULL AS infusion_rate_adjustment_amount, NULL AS infusion_rate_unit, route,
    NULL AS infusion_complete, NULL AS completion_interval, NULL AS new_iv_bag_hung, NULL AS continued_infusion_in_other_location, NULL AS restart_interval, NULL AS side,
    NULL AS site, NULL AS non_formulary_visual_verification
FROM drug_order ORDER BY pharmacy_id
