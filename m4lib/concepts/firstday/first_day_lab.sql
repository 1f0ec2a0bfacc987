-- first_day_lab: lowest and highest routine laboratory values of the first ICU day.
--
-- Grain:  one row per ICU stay (every row of icustays; NULL where nothing was measured).
-- Window: intime - 6 h to intime + 24 h, both ends included; not cut at outtime.
-- Link:   by patient, so samples drawn before the admission or without an admission id count.
--         Blood-gas analyser values are not mixed in.
-- Source: MIMIC-IV derived concept `first_day_lab` (MIT-LCP mimic-code, concepts/firstday).
-- Units:  as in the five laboratory concepts; given beside each pair of columns.
WITH window_of_stay AS (
    SELECT
        subject_id,
        stay_id,
        intime - INTERVAL '6' HOUR AS window_start,
        intime + INTERVAL '1' DAY AS window_end
    FROM mimiciv_icu.icustays
),

blood_count_of_stay AS (
    SELECT
        w.stay_id,
        MIN(lab.hematocrit) AS hematocrit_min,  -- %
        MAX(lab.hematocrit) AS hematocrit_max,
        MIN(lab.hemoglobin) AS hemoglobin_min,  -- g/dL
        MAX(lab.hemoglobin) AS hemoglobin_max,
        MIN(lab.platelet) AS platelets_min,  -- K/µL
        MAX(lab.platelet) AS platelets_max,
        MIN(lab.wbc) AS wbc_min,  -- K/µL
        MAX(lab.wbc) AS wbc_max
    FROM window_of_stay AS w
    INNER JOIN mimiciv_derived.complete_blood_count AS lab
        ON w.subject_id = lab.subject_id
        AND lab.charttime >= w.window_start
        AND lab.charttime <= w.window_end
    GROUP BY w.stay_id
),

chemistry_of_stay AS (
    SELECT
        w.stay_id,
        MIN(lab.albumin) AS albumin_min,  -- g/dL
        MAX(lab.albumin) AS albumin_max,
        MIN(lab.globulin) AS globulin_min,  -- g/dL
        MAX(lab.globulin) AS globulin_max,
        MIN(lab.total_protein) AS total_protein_min,  -- g/dL
        MAX(lab.total_protein) AS total_protein_max,
        MIN(lab.aniongap) AS aniongap_min,  -- mEq/L
        MAX(lab.aniongap) AS aniongap_max,
        MIN(lab.bicarbonate) AS bicarbonate_min,  -- mEq/L
        MAX(lab.bicarbonate) AS bicarbonate_max,
        MIN(lab.bun) AS bun_min,  -- mg/dL
        MAX(lab.bun) AS bun_max,
        MIN(lab.calcium) AS calcium_min,  -- mg/dL
        MAX(lab.calcium) AS calcium_max,
        MIN(lab.chloride) AS chloride_min,  -- mEq/L
        MAX(lab.chloride) AS chloride_max,
        MIN(lab.creatinine) AS creatinine_min,  -- mg/dL
        MAX(lab.creatinine) AS creatinine_max,
        MIN(lab.glucose) AS glucose_min,  -- mg/dL
        MAX(lab.glucose) AS glucose_max,
        MIN(lab.sodium) AS sodium_min,  -- mEq/L
        MAX(lab.sodium) AS sodium_max,
        MIN(lab.potassium) AS potassium_min,  -- mEq/L
        MAX(lab.potassium) AS potassium_max
    FROM window_of_stay AS w
    INNER JOIN mimiciv_derived.chemistry AS lab
        ON w.subject_id = lab.subject_id
        AND lab.charttime >= w.window_start
        AND lab.charttime <= w.window_end
    GROUP BY w.stay_id
),

differential_of_stay AS (
    SELECT
        w.stay_id,
        MIN(lab.basophils_abs) AS abs_basophils_min,  -- K/µL
        MAX(lab.basophils_abs) AS abs_basophils_max,
        MIN(lab.eosinophils_abs) AS abs_eosinophils_min,  -- K/µL
        MAX(lab.eosinophils_abs) AS abs_eosinophils_max,
        MIN(lab.lymphocytes_abs) AS abs_lymphocytes_min,  -- K/µL
        MAX(lab.lymphocytes_abs) AS abs_lymphocytes_max,
        MIN(lab.monocytes_abs) AS abs_monocytes_min,  -- K/µL
        MAX(lab.monocytes_abs) AS abs_monocytes_max,
        MIN(lab.neutrophils_abs) AS abs_neutrophils_min,  -- K/µL
        MAX(lab.neutrophils_abs) AS abs_neutrophils_max,
        MIN(lab.atypical_lymphocytes) AS atyps_min,  -- %
        MAX(lab.atypical_lymphocytes) AS atyps_max,
        MIN(lab.bands) AS bands_min,  -- %
        MAX(lab.bands) AS bands_max,
        MIN(lab.immature_granulocytes) AS imm_granulocytes_min,  -- %
        MAX(lab.immature_granulocytes) AS imm_granulocytes_max,
        MIN(lab.metamyelocytes) AS metas_min,  -- %
        MAX(lab.metamyelocytes) AS metas_max,
        MIN(lab.nrbc) AS nrbc_min,  -- %
        MAX(lab.nrbc) AS nrbc_max
    FROM window_of_stay AS w
    INNER JOIN mimiciv_derived.blood_differential AS lab
        ON w.subject_id = lab.subject_id
        AND lab.charttime >= w.window_start
        AND lab.charttime <= w.window_end
    GROUP BY w.stay_id
),

coagulation_of_stay AS (
    SELECT
        w.stay_id,
        MIN(lab.d_dimer) AS d_dimer_min,  -- ng/mL
        MAX(lab.d_dimer) AS d_dimer_max,
        MIN(lab.fibrinogen) AS fibrinogen_min,  -- mg/dL
        MAX(lab.fibrinogen) AS fibrinogen_max,
        MIN(lab.thrombin) AS thrombin_min,  -- s
        MAX(lab.thrombin) AS thrombin_max,
        MIN(lab.inr) AS inr_min,  -- ratio
        MAX(lab.inr) AS inr_max,
        MIN(lab.pt) AS pt_min,  -- s
        MAX(lab.pt) AS pt_max,
        MIN(lab.ptt) AS ptt_min,  -- s
        MAX(lab.ptt) AS ptt_max
    FROM window_of_stay AS w
    INNER JOIN mimiciv_derived.coagulation AS lab
        ON w.subject_id = lab.subject_id
        AND lab.charttime >= w.window_start
        AND lab.charttime <= w.window_end
    GROUP BY w.stay_id
),

enzyme_of_stay AS (
    SELECT
        w.stay_id,
        MIN(lab.alt) AS alt_min,  -- IU/L
        MAX(lab.alt) AS alt_max,
        MIN(lab.alp) AS alp_min,  -- IU/L
        MAX(lab.alp) AS alp_max,
        MIN(lab.ast) AS ast_min,  -- IU/L
        MAX(lab.ast) AS ast_max,
        MIN(lab.amylase) AS amylase_min,  -- IU/L
        MAX(lab.amylase) AS amylase_max,
        MIN(lab.bilirubin_total) AS bilirubin_total_min,  -- mg/dL
        MAX(lab.bilirubin_total) AS bilirubin_total_max,
        MIN(lab.bilirubin_direct) AS bilirubin_direct_min,  -- mg/dL
        MAX(lab.bilirubin_direct) AS bilirubin_direct_max,
        MIN(lab.bilirubin_indirect) AS bilirubin_indirect_min,  -- mg/dL
        MAX(lab.bilirubin_indirect) AS bilirubin_indirect_max,
        MIN(lab.ck_cpk) AS ck_cpk_min,  -- IU/L
        MAX(lab.ck_cpk) AS ck_cpk_max,
        MIN(lab.ck_mb) AS ck_mb_min,  -- ng/mL
        MAX(lab.ck_mb) AS ck_mb_max,
        MIN(lab.ggt) AS ggt_min,  -- IU/L
        MAX(lab.ggt) AS ggt_max,
        MIN(lab.ld_ldh) AS ld_ldh_min,  -- IU/L
        MAX(lab.ld_ldh) AS ld_ldh_max
    FROM window_of_stay AS w
    INNER JOIN mimiciv_derived.enzyme AS lab
        ON w.subject_id = lab.subject_id
        AND lab.charttime >= w.window_start
        AND lab.charttime <= w.window_end
    GROUP BY w.stay_id
)

SELECT
    ie.subject_id,
    ie.stay_id,
    -- Complete blood count
    blood_count_of_stay.hematocrit_min,
    blood_count_of_stay.hematocrit_max,
    blood_count_of_stay.hemoglobin_min,
    blood_count_of_stay.hemoglobin_max,
    blood_count_of_stay.platelets_min,
    blood_count_of_stay.platelets_max,
    blood_count_of_stay.wbc_min,
    blood_count_of_stay.wbc_max,
    -- Chemistry
    chemistry_of_stay.albumin_min,
    chemistry_of_stay.albumin_max,
    chemistry_of_stay.globulin_min,
    chemistry_of_stay.globulin_max,
    chemistry_of_stay.total_protein_min,
    chemistry_of_stay.total_protein_max,
    chemistry_of_stay.aniongap_min,
    chemistry_of_stay.aniongap_max,
    chemistry_of_stay.bicarbonate_min,
    chemistry_of_stay.bicarbonate_max,
    chemistry_of_stay.bun_min,
    chemistry_of_stay.bun_max,
    chemistry_of_stay.calcium_min,
    chemistry_of_stay.calcium_max,
    chemistry_of_stay.chloride_min,
    chemistry_of_stay.chloride_max,
    chemistry_of_stay.creatinine_min,
    chemistry_of_stay.creatinine_max,
    chemistry_of_stay.glucose_min,
    chemistry_of_stay.glucose_max,
    chemistry_of_stay.sodium_min,
    chemistry_of_stay.sodium_max,
    chemistry_of_stay.potassium_min,
    chemistry_of_stay.potassium_max,
    -- White-cell differential
    differential_of_stay.abs_basophils_min,
    differential_of_stay.abs_basophils_max,
    differential_of_stay.abs_eosinophils_min,
    differential_of_stay.abs_eosinophils_max,
    differential_of_stay.abs_lymphocytes_min,
    differential_of_stay.abs_lymphocytes_max,
    differential_of_stay.abs_monocytes_min,
    differential_of_stay.abs_monocytes_max,
    differential_of_stay.abs_neutrophils_min,
    differential_of_stay.abs_neutrophils_max,
    differential_of_stay.atyps_min,
    differential_of_stay.atyps_max,
    differential_of_stay.bands_min,
    differential_of_stay.bands_max,
    differential_of_stay.imm_granulocytes_min,
    differential_of_stay.imm_granulocytes_max,
    differential_of_stay.metas_min,
    differential_of_stay.metas_max,
    differential_of_stay.nrbc_min,
    differential_of_stay.nrbc_max,
    -- Coagulation
    coagulation_of_stay.d_dimer_min,
    coagulation_of_stay.d_dimer_max,
    coagulation_of_stay.fibrinogen_min,
    coagulation_of_stay.fibrinogen_max,
    coagulation_of_stay.thrombin_min,
    coagulation_of_stay.thrombin_max,
    coagulation_of_stay.inr_min,
    coagulation_of_stay.inr_max,
    coagulation_of_stay.pt_min,
    coagulation_of_stay.pt_max,
    coagulation_of_stay.ptt_min,
    coagulation_of_stay.ptt_max,
    -- Enzymes and bilirubin
    enzyme_of_stay.alt_min,
    enzyme_of_stay.alt_max,
    enzyme_of_stay.alp_min,
    enzyme_of_stay.alp_max,
    enzyme_of_stay.ast_min,
    enzyme_of_stay.ast_max,
    enzyme_of_stay.amylase_min,
    enzyme_of_stay.amylase_max,
    enzyme_of_stay.bilirubin_total_min,
    enzyme_of_stay.bilirubin_total_max,
    enzyme_of_stay.bilirubin_direct_min,
    enzyme_of_stay.bilirubin_direct_max,
    enzyme_of_stay.bilirubin_indirect_min,
    enzyme_of_stay.bilirubin_indirect_max,
    enzyme_of_stay.ck_cpk_min,
    enzyme_of_stay.ck_cpk_max,
    enzyme_of_stay.ck_mb_min,
    enzyme_of_stay.ck_mb_max,
    enzyme_of_stay.ggt_min,
    enzyme_of_stay.ggt_max,
    enzyme_of_stay.ld_ldh_min,
    enzyme_of_stay.ld_ldh_max
FROM mimiciv_icu.icustays AS ie
LEFT JOIN blood_count_of_stay ON ie.stay_id = blood_count_of_stay.stay_id
LEFT JOIN chemistry_of_stay ON ie.stay_id = chemistry_of_stay.stay_id
LEFT JOIN differential_of_stay ON ie.stay_id = differential_of_stay.stay_id
LEFT JOIN coagulation_of_stay ON ie.stay_id = coagulation_of_stay.stay_id
LEFT JOIN enzyme_of_stay ON ie.stay_id = enzyme_of_stay.stay_id
