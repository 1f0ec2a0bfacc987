SELECT subject_id, hadm_id, stay_id,
    pick(['Medical Intensive Care Unit (MICU)', 'Surgical Intensive Care Unit (SICU)', 'Cardiac Vascular Intensive Care Unit (CVICU)',
          'Medical/Surgical Intensive Care Unit (MICU/SICU)', 'Trauma SICU (TSICU)', 'Coronary Care Unit (CCU)',
          'Neuro Surgical Intensive Care Unit (Neuro SICU)', 'Neuro Stepdown'], u('unit', n, 0)) AS first_careunit,
    pick(['Medical Intensive Care Unit (MICU)', 'Surgical Intensive Care Unit (SICU)', 'Cardiac Vascular Intensive Care Unit (CVICU)',
          'Medical/Surgical Intensive Care Unit (MICU/SICU)', 'Trauma SICU (TSICU)', 'Coronary Care Unit (CCU)',
          'Neuro Surgical Intensive Care Unit (Neuro SICU)', 'Neuro Stepdown'], u('unit', n, CASE WHEN u('moved', n, 0) < 0.1 THEN 1 ELSE 0 END)) AS last_careunit,
    ts(in_s) AS intime, ts(out_s) AS outtime, los_s / 86400.0 AS los
FROM stay ORDER BY stay_id
