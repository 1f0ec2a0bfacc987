-- charlson: Charlson comorbidity index of each hospital admission, with its 17 conditions and age points.
--
-- Grain:  one row per hospital admission; without diagnoses every condition is 0.
-- Rules:  every diagnosis of the admission counts, the primary one too; earlier admissions do not.
--         Codes have no dot and are compared as text by their first 3, 4 or 5 characters; a range
--         includes both ends. Age is in years with fraction: 50.2 years already scores 1 point.
-- Source: Charlson ME et al., J Chronic Dis 1987;40:373-383; codes of Quan H et al., Med Care
--         2005;43:1130-1139; age points of Charlson M et al., J Clin Epidemiol 1994;47:1245-1251;
--         MIMIC-IV derived concept `charlson` (MIT-LCP mimic-code, concepts/comorbidity).
-- Units:  conditions 0/1; points.
WITH code AS (
    -- each code beside its prefixes, in the column of its ICD version
    SELECT
        hadm_id,
        CASE WHEN icd_version = 9 THEN SUBSTR(icd_code, 1, 3) END AS icd9_3,
        CASE WHEN icd_version = 9 THEN SUBSTR(icd_code, 1, 4) END AS icd9_4,
        CASE WHEN icd_version = 9 THEN SUBSTR(icd_code, 1, 5) END AS icd9_5,
        CASE WHEN icd_version = 10 THEN SUBSTR(icd_code, 1, 3) END AS icd10_3,
        CASE WHEN icd_version = 10 THEN SUBSTR(icd_code, 1, 4) END AS icd10_4
    FROM mimiciv_hosp.diagnoses_icd
),

condition AS (
    SELECT
        hadm_id,
        -- Myocardial infarction, acute or old
        MAX(CASE
            WHEN
                icd9_3 IN ('410', '412')
                OR icd10_3 IN ('I21', 'I22')
                OR icd10_4 = 'I252'
                THEN 1
            ELSE 0
        END) AS myocardial_infarct,
        -- Congestive heart failure
        MAX(CASE
            WHEN
                icd9_3 = '428'
                OR icd9_5 IN ('39891', '40201', '40211', '40291', '40401', '40403', '40411', '40413', '40491', '40493')
                OR icd9_4 BETWEEN '4254' AND '4259'
                OR icd10_3 IN ('I43', 'I50')
                OR icd10_4 IN (
                    'I099', 'I110', 'I130', 'I132', 'I255', 'I420', 'I425', 'I426', 'I427', 'I428', 'I429',
                    'P290'
                )
                THEN 1
            ELSE 0
        END) AS congestive_heart_failure,
        -- Peripheral vascular disease
        MAX(CASE
            WHEN
                icd9_3 IN ('440', '441')
                OR icd9_4 IN ('0930', '4373', '4471', '5571', '5579', 'V434')
                OR icd9_4 BETWEEN '4431' AND '4439'
                OR icd10_3 IN ('I70', 'I71')
                OR icd10_4 IN ('I731', 'I738', 'I739', 'I771', 'I790', 'I792', 'K551', 'K558', 'K559', 'Z958', 'Z959')
                THEN 1
            ELSE 0
        END) AS peripheral_vascular_disease,
        -- Cerebrovascular disease
        MAX(CASE
            WHEN
                icd9_3 BETWEEN '430' AND '438'
                OR icd9_5 = '36234'
                OR icd10_3 IN ('G45', 'G46')
                OR icd10_3 BETWEEN 'I60' AND 'I69'
                OR icd10_4 = 'H340'
                THEN 1
            ELSE 0
        END) AS cerebrovascular_disease,
        -- Dementia
        MAX(CASE
            WHEN
                icd9_3 = '290'
                OR icd9_4 IN ('2941', '3312')
                OR icd10_3 IN ('F00', 'F01', 'F02', 'F03', 'G30')
                OR icd10_4 IN ('F051', 'G311')
                THEN 1
            ELSE 0
        END) AS dementia,
        -- Chronic pulmonary disease
        MAX(CASE
            WHEN
                icd9_3 BETWEEN '490' AND '505'
                OR icd9_4 IN ('4168', '4169', '5064', '5081', '5088')
                OR icd10_3 BETWEEN 'J40' AND 'J47'
                OR icd10_3 BETWEEN 'J60' AND 'J67'
                OR icd10_4 IN ('I278', 'I279', 'J684', 'J701', 'J703')
                THEN 1
            ELSE 0
        END) AS chronic_pulmonary_disease,
        -- Rheumatic disease
        MAX(CASE
            WHEN
                icd9_3 = '725'
                OR icd9_4 IN ('4465', '7100', '7101', '7102', '7103', '7104', '7140', '7141', '7142', '7148')
                OR icd10_3 IN ('M05', 'M06', 'M32', 'M33', 'M34')
                OR icd10_4 IN ('M315', 'M351', 'M353', 'M360')
                THEN 1
            ELSE 0
        END) AS rheumatic_disease,
        -- Peptic ulcer disease
        MAX(CASE
            WHEN
                icd9_3 IN ('531', '532', '533', '534')
                OR icd10_3 IN ('K25', 'K26', 'K27', 'K28')
                THEN 1
            ELSE 0
        END) AS peptic_ulcer_disease,
        -- Mild liver disease
        MAX(CASE
            WHEN
                icd9_3 IN ('570', '571')
                OR icd9_4 IN ('0706', '0709', '5733', '5734', '5738', '5739', 'V427')
                OR icd9_5 IN ('07022', '07023', '07032', '07033', '07044', '07054')
                OR icd10_3 IN ('B18', 'K73', 'K74')
                OR icd10_4 IN (
                    'K700', 'K701', 'K702', 'K703', 'K709', 'K713', 'K714', 'K715', 'K717', 'K760', 'K762',
                    'K763', 'K764', 'K768', 'K769', 'Z944'
                )
                THEN 1
            ELSE 0
        END) AS mild_liver_disease,
        -- Diabetes without chronic complication
        MAX(CASE
            WHEN
                icd9_4 IN ('2500', '2501', '2502', '2503', '2508', '2509')
                OR icd10_4 IN (
                    'E100', 'E101', 'E106', 'E108', 'E109', 'E110', 'E111', 'E116', 'E118', 'E119', 'E120',
                    'E121', 'E126', 'E128', 'E129', 'E130', 'E131', 'E136', 'E138', 'E139', 'E140', 'E141',
                    'E146', 'E148', 'E149'
                )
                THEN 1
            ELSE 0
        END) AS diabetes_without_cc,
        -- Diabetes with chronic complication
        MAX(CASE
            WHEN
                icd9_4 IN ('2504', '2505', '2506', '2507')
                OR icd10_4 IN (
                    'E102', 'E103', 'E104', 'E105', 'E107', 'E112', 'E113', 'E114', 'E115', 'E117', 'E122',
                    'E123', 'E124', 'E125', 'E127', 'E132', 'E133', 'E134', 'E135', 'E137', 'E142', 'E143',
                    'E144', 'E145', 'E147'
                )
                THEN 1
            ELSE 0
        END) AS diabetes_with_cc,
        -- Hemiplegia or paraplegia
        MAX(CASE
            WHEN
                icd9_3 IN ('342', '343')
                OR icd9_4 IN ('3341', '3440', '3441', '3442', '3443', '3444', '3445', '3446', '3449')
                OR icd10_3 IN ('G81', 'G82')
                OR icd10_4 IN ('G041', 'G114', 'G801', 'G802', 'G830', 'G831', 'G832', 'G833', 'G834', 'G839')
                THEN 1
            ELSE 0
        END) AS paraplegia,
        -- Renal disease
        MAX(CASE
            WHEN
                icd9_3 IN ('582', '585', '586', 'V56')
                OR icd9_4 IN ('5880', 'V420', 'V451')
                OR icd9_4 BETWEEN '5830' AND '5837'
                OR icd9_5 IN ('40301', '40311', '40391', '40402', '40403', '40412', '40413', '40492', '40493')
                OR icd10_3 IN ('N18', 'N19')
                OR icd10_4 IN (
                    'I120', 'I131', 'N032', 'N033', 'N034', 'N035', 'N036', 'N037', 'N052', 'N053', 'N054',
                    'N055', 'N056', 'N057', 'N250', 'Z490', 'Z491', 'Z492', 'Z940', 'Z992'
                )
                THEN 1
            ELSE 0
        END) AS renal_disease,
        -- Any malignancy, including lymphoma and leukaemia, except of the skin
        MAX(CASE
            WHEN
                icd9_3 BETWEEN '140' AND '172'
                OR icd9_4 BETWEEN '1740' AND '1958'
                OR icd9_3 BETWEEN '200' AND '208'
                OR icd9_4 = '2386'
                OR icd10_3 IN ('C43', 'C88')
                OR icd10_3 BETWEEN 'C00' AND 'C26'
                OR icd10_3 BETWEEN 'C30' AND 'C34'
                OR icd10_3 BETWEEN 'C37' AND 'C41'
                OR icd10_3 BETWEEN 'C45' AND 'C58'
                OR icd10_3 BETWEEN 'C60' AND 'C76'
                OR icd10_3 BETWEEN 'C81' AND 'C85'
                OR icd10_3 BETWEEN 'C90' AND 'C97'
                THEN 1
            ELSE 0
        END) AS malignant_cancer,
        -- Moderate or severe liver disease
        MAX(CASE
            WHEN
                icd9_4 IN ('4560', '4561', '4562')
                OR icd9_4 BETWEEN '5722' AND '5728'
                OR icd10_4 IN ('I850', 'I859', 'I864', 'I982', 'K704', 'K711', 'K721', 'K729', 'K765', 'K766', 'K767')
                THEN 1
            ELSE 0
        END) AS severe_liver_disease,
        -- Metastatic solid tumour
        MAX(CASE
            WHEN
                icd9_3 IN ('196', '197', '198', '199')
                OR icd10_3 IN ('C77', 'C78', 'C79', 'C80')
                THEN 1
            ELSE 0
        END) AS metastatic_solid_tumor,
        -- AIDS or HIV
        MAX(CASE
            WHEN
                icd9_3 IN ('042', '043', '044')
                OR icd10_3 IN ('B20', 'B21', 'B22', 'B24')
                THEN 1
            ELSE 0
        END) AS aids
    FROM code
    GROUP BY hadm_id
),

age_points AS (
    SELECT
        hadm_id,
        CASE
            WHEN age <= 50 THEN 0
            WHEN age <= 60 THEN 1
            WHEN age <= 70 THEN 2
            WHEN age <= 80 THEN 3
            ELSE 4  -- also an unknown age; an admission without an age row has no points and no index
        END AS age_score
    FROM mimiciv_derived.age
),

flagged AS (
    SELECT
        adm.subject_id,
        adm.hadm_id,
        age_points.age_score,
        COALESCE(condition.myocardial_infarct, 0) AS myocardial_infarct,
        COALESCE(condition.congestive_heart_failure, 0) AS congestive_heart_failure,
        COALESCE(condition.peripheral_vascular_disease, 0) AS peripheral_vascular_disease,
        COALESCE(condition.cerebrovascular_disease, 0) AS cerebrovascular_disease,
        COALESCE(condition.dementia, 0) AS dementia,
        COALESCE(condition.chronic_pulmonary_disease, 0) AS chronic_pulmonary_disease,
        COALESCE(condition.rheumatic_disease, 0) AS rheumatic_disease,
        COALESCE(condition.peptic_ulcer_disease, 0) AS peptic_ulcer_disease,
        COALESCE(condition.mild_liver_disease, 0) AS mild_liver_disease,
        COALESCE(condition.diabetes_without_cc, 0) AS diabetes_without_cc,
        COALESCE(condition.diabetes_with_cc, 0) AS diabetes_with_cc,
        COALESCE(condition.paraplegia, 0) AS paraplegia,
        COALESCE(condition.renal_disease, 0) AS renal_disease,
        COALESCE(condition.malignant_cancer, 0) AS malignant_cancer,
        COALESCE(condition.severe_liver_disease, 0) AS severe_liver_disease,
        COALESCE(condition.metastatic_solid_tumor, 0) AS metastatic_solid_tumor,
        COALESCE(condition.aids, 0) AS aids
    FROM mimiciv_hosp.admissions AS adm
    LEFT JOIN condition ON adm.hadm_id = condition.hadm_id
    LEFT JOIN age_points ON adm.hadm_id = age_points.hadm_id
)

SELECT
    *,
    age_score
    + myocardial_infarct
    + congestive_heart_failure
    + peripheral_vascular_disease
    + cerebrovascular_disease
    + dementia
    + chronic_pulmonary_disease
    + rheumatic_disease
    + peptic_ulcer_disease
    -- of the mild and the severe form only the heavier one counts
    + GREATEST(mild_liver_disease, 3 * severe_liver_disease)
    + GREATEST(2 * diabetes_with_cc, diabetes_without_cc)
    + GREATEST(2 * malignant_cancer, 6 * metastatic_solid_tumor)
    + 2 * paraplegia
    + 2 * renal_disease
    + 6 * aids AS charlson_comorbidity_index
FROM flagged
