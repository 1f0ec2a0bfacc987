-- Charlson comorbidity index of each hospital admission: 17 condition flags, age points and the weighted index.
-- Grain: one row per admission; without diagnoses all flags are 0 and the index is the age points.
-- Flags: any diagnosis of the admission, whatever its rank; icd_version decides which codes apply. A code matches when its
-- first characters, compared as text, lie between two codes, both included.
-- Index: the worse of mild and severe liver disease, of diabetes without and with complications, of cancer and metastasis.
-- Age points: fractional years; a missing age counts as the oldest, an admission without age row has no index.
-- Source: Charlson ME et al., J Chronic Dis 1987;40:373-383; codes Quan H et al., Med Care 2005;43:1130-1139.
WITH code_list (condition, icd_version, characters, from_code, to_code) AS (
    VALUES
        ('myocardial_infarct', 9, 3, '410', '410'), ('myocardial_infarct', 9, 3, '412', '412'),
        ('myocardial_infarct', 10, 3, 'I21', 'I21'), ('myocardial_infarct', 10, 3, 'I22', 'I22'),
        ('myocardial_infarct', 10, 4, 'I252', 'I252'),

        ('congestive_heart_failure', 9, 3, '428', '428'), ('congestive_heart_failure', 9, 5, '39891', '39891'),
        ('congestive_heart_failure', 9, 5, '40201', '40201'), ('congestive_heart_failure', 9, 5, '40211', '40211'),
        ('congestive_heart_failure', 9, 5, '40291', '40291'), ('congestive_heart_failure', 9, 5, '40401', '40401'),
        ('congestive_heart_failure', 9, 5, '40403', '40403'), ('congestive_heart_failure', 9, 5, '40411', '40411'),
        ('congestive_heart_failure', 9, 5, '40413', '40413'), ('congestive_heart_failure', 9, 5, '40491', '40491'),
        ('congestive_heart_failure', 9, 5, '40493', '40493'), ('congestive_heart_failure', 9, 4, '4254', '4259'),
        ('congestive_heart_failure', 10, 3, 'I43', 'I43'), ('congestive_heart_failure', 10, 3, 'I50', 'I50'),
        ('congestive_heart_failure', 10, 4, 'I099', 'I099'), ('congestive_heart_failure', 10, 4, 'I110', 'I110'),
        ('congestive_heart_failure', 10, 4, 'I130', 'I130'), ('congestive_heart_failure', 10, 4, 'I132', 'I132'),
        ('congestive_heart_failure', 10, 4, 'I255', 'I255'), ('congestive_heart_failure', 10, 4, 'I420', 'I420'),
        ('congestive_heart_failure', 10, 4, 'I425', 'I425'), ('congestive_heart_failure', 10, 4, 'I426', 'I426'),
        ('congestive_heart_failure', 10, 4, 'I427', 'I427'), ('congestive_heart_failure', 10, 4, 'I428', 'I428'),
        ('congestive_heart_failure', 10, 4, 'I429', 'I429'), ('congestive_heart_failure', 10, 4, 'P290', 'P290'),

        ('peripheral_vascular_disease', 9, 3, '440', '440'), ('peripheral_vascular_disease', 9, 3, '441', '441'),
        ('peripheral_vascular_disease', 9, 4, '0930', '0930'), ('peripheral_vascular_disease', 9, 4, '4373', '4373'),
        ('peripheral_vascular_disease', 9, 4, '4471', '4471'), ('peripheral_vascular_disease', 9, 4, '5571', '5571'),
        ('peripheral_vascular_disease', 9, 4, '5579', '5579'), ('peripheral_vascular_disease', 9, 4, 'V434', 'V434'),
        ('peripheral_vascular_disease', 9, 4, '4431', '4439'), ('peripheral_vascular_disease', 10, 3, 'I70', 'I70'),
        ('peripheral_vascular_disease', 10, 3, 'I71', 'I71'), ('peripheral_vascular_disease', 10, 4, 'I731', 'I731'),
        ('peripheral_vascular_disease', 10, 4, 'I738', 'I738'), ('peripheral_vascular_disease', 10, 4, 'I739', 'I739'),
        ('peripheral_vascular_disease', 10, 4, 'I771', 'I771'), ('peripheral_vascular_disease', 10, 4, 'I790', 'I790'),
        ('peripheral_vascular_disease', 10, 4, 'I792', 'I792'), ('peripheral_vascular_disease', 10, 4, 'K551', 'K551'),
        ('peripheral_vascular_disease', 10, 4, 'K558', 'K558'), ('peripheral_vascular_disease', 10, 4, 'K559', 'K559'),
        ('peripheral_vascular_disease', 10, 4, 'Z958', 'Z958'), ('peripheral_vascular_disease', 10, 4, 'Z959', 'Z959'),

        ('cerebrovascular_disease', 9, 3, '430', '438'), ('cerebrovascular_disease', 9, 5, '36234', '36234'),
        ('cerebrovascular_disease', 10, 3, 'G45', 'G45'), ('cerebrovascular_disease', 10, 3, 'G46', 'G46'),
        ('cerebrovascular_disease', 10, 3, 'I60', 'I69'), ('cerebrovascular_disease', 10, 4, 'H340', 'H340'),

        ('dementia', 9, 3, '290', '290'), ('dementia', 9, 4, '2941', '2941'), ('dementia', 9, 4, '3312', '3312'),
        ('dementia', 10, 3, 'F00', 'F00'), ('dementia', 10, 3, 'F01', 'F01'), ('dementia', 10, 3, 'F02', 'F02'),
        ('dementia', 10, 3, 'F03', 'F03'), ('dementia', 10, 3, 'G30', 'G30'), ('dementia', 10, 4, 'F051', 'F051'),
        ('dementia', 10, 4, 'G311', 'G311'),

        ('chronic_pulmonary_disease', 9, 3, '490', '505'), ('chronic_pulmonary_disease', 9, 4, '4168', '4168'),
        ('chronic_pulmonary_disease', 9, 4, '4169', '4169'), ('chronic_pulmonary_disease', 9, 4, '5064', '5064'),
        ('chronic_pulmonary_disease', 9, 4, '5081', '5081'), ('chronic_pulmonary_disease', 9, 4, '5088', '5088'),
        ('chronic_pulmonary_disease', 10, 3, 'J40', 'J47'), ('chronic_pulmonary_disease', 10, 3, 'J60', 'J67'),
        ('chronic_pulmonary_disease', 10, 4, 'I278', 'I278'), ('chronic_pulmonary_disease', 10, 4, 'I279', 'I279'),
        ('chronic_pulmonary_disease', 10, 4, 'J684', 'J684'), ('chronic_pulmonary_disease', 10, 4, 'J701', 'J701'),
        ('chronic_pulmonary_disease', 10, 4, 'J703', 'J703'),

        ('rheumatic_disease', 9, 3, '725', '725'), ('rheumatic_disease', 9, 4, '4465', '4465'),
        ('rheumatic_disease', 9, 4, '7100', '7100'), ('rheumatic_disease', 9, 4, '7101', '7101'),
        ('rheumatic_disease', 9, 4, '7102', '7102'), ('rheumatic_disease', 9, 4, '7103', '7103'),
        ('rheumatic_disease', 9, 4, '7104', '7104'), ('rheumatic_disease', 9, 4, '7140', '7140'),
        ('rheumatic_disease', 9, 4, '7141', '7141'), ('rheumatic_disease', 9, 4, '7142', '7142'),
        ('rheumatic_disease', 9, 4, '7148', '7148'), ('rheumatic_disease', 10, 3, 'M05', 'M05'),
        ('rheumatic_disease', 10, 3, 'M06', 'M06'), ('rheumatic_disease', 10, 3, 'M32', 'M32'),
        ('rheumatic_disease', 10, 3, 'M33', 'M33'), ('rheumatic_disease', 10, 3, 'M34', 'M34'),
        ('rheumatic_disease', 10, 4, 'M315', 'M315'), ('rheumatic_disease', 10, 4, 'M351', 'M351'),
        ('rheumatic_disease', 10, 4, 'M353', 'M353'), ('rheumatic_disease', 10, 4, 'M360', 'M360'),

        ('peptic_ulcer_disease', 9, 3, '531', '531'), ('peptic_ulcer_disease', 9, 3, '532', '532'),
        ('peptic_ulcer_disease', 9, 3, '533', '533'), ('peptic_ulcer_disease', 9, 3, '534', '534'),
        ('peptic_ulcer_disease', 10, 3, 'K25', 'K25'), ('peptic_ulcer_disease', 10, 3, 'K26', 'K26'),
        ('peptic_ulcer_disease', 10, 3, 'K27', 'K27'), ('peptic_ulcer_disease', 10, 3, 'K28', 'K28'),

        ('mild_liver_disease', 9, 3, '570', '570'), ('mild_liver_disease', 9, 3, '571', '571'),
        ('mild_liver_disease', 9, 4, '0706', '0706'), ('mild_liver_disease', 9, 4, '0709', '0709'),
        ('mild_liver_disease', 9, 4, '5733', '5733'), ('mild_liver_disease', 9, 4, '5734', '5734'),
        ('mild_liver_disease', 9, 4, '5738', '5738'), ('mild_liver_disease', 9, 4, '5739', '5739'),
        ('mild_liver_disease', 9, 4, 'V427', 'V427'), ('mild_liver_disease', 9, 5, '07022', '07022'),
        ('mild_liver_disease', 9, 5, '07023', '07023'), ('mild_liver_disease', 9, 5, '07032', '07032'),
        ('mild_liver_disease', 9, 5, '07033', '07033'), ('mild_liver_disease', 9, 5, '07044', '07044'),
        ('mild_liver_disease', 9, 5, '07054', '07054'), ('mild_liver_disease', 10, 3, 'B18', 'B18'),
        ('mild_liver_disease', 10, 3, 'K73', 'K73'), ('mild_liver_disease', 10, 3, 'K74', 'K74'),
        ('mild_liver_disease', 10, 4, 'K700', 'K700'), ('mild_liver_disease', 10, 4, 'K701', 'K701'),
        ('mild_liver_disease', 10, 4, 'K702', 'K702'), ('mild_liver_disease', 10, 4, 'K703', 'K703'),
        ('mild_liver_disease', 10, 4, 'K709', 'K709'), ('mild_liver_disease', 10, 4, 'K713', 'K713'),
        ('mild_liver_disease', 10, 4, 'K714', 'K714'), ('mild_liver_disease', 10, 4, 'K715', 'K715'),
        ('mild_liver_disease', 10, 4, 'K717', 'K717'), ('mild_liver_disease', 10, 4, 'K760', 'K760'),
        ('mild_liver_disease', 10, 4, 'K762', 'K762'), ('mild_liver_disease', 10, 4, 'K763', 'K763'),
        ('mild_liver_disease', 10, 4, 'K764', 'K764'), ('mild_liver_disease', 10, 4, 'K768', 'K768'),
        ('mild_liver_disease', 10, 4, 'K769', 'K769'), ('mild_liver_disease', 10, 4, 'Z944', 'Z944'),

        ('diabetes_without_cc', 9, 4, '2500', '2500'), ('diabetes_without_cc', 9, 4, '2501', '2501'),
        ('diabetes_without_cc', 9, 4, '2502', '2502'), ('diabetes_without_cc', 9, 4, '2503', '2503'),
        ('diabetes_without_cc', 9, 4, '2508', '2508'), ('diabetes_without_cc', 9, 4, '2509', '2509'),
        ('diabetes_without_cc', 10, 4, 'E100', 'E100'), ('diabetes_without_cc', 10, 4, 'E101', 'E101'),
        ('diabetes_without_cc', 10, 4, 'E106', 'E106'), ('diabetes_without_cc', 10, 4, 'E108', 'E108'),
        ('diabetes_without_cc', 10, 4, 'E109', 'E109'), ('diabetes_without_cc', 10, 4, 'E110', 'E110'),
        ('diabetes_without_cc', 10, 4, 'E111', 'E111'), ('diabetes_without_cc', 10, 4, 'E116', 'E116'),
        ('diabetes_without_cc', 10, 4, 'E118', 'E118'), ('diabetes_without_cc', 10, 4, 'E119', 'E119'),
        ('diabetes_without_cc', 10, 4, 'E120', 'E120'), ('diabetes_without_cc', 10, 4, 'E121', 'E121'),
        ('diabetes_without_cc', 10, 4, 'E126', 'E126'), ('diabetes_without_cc', 10, 4, 'E128', 'E128'),
        ('diabetes_without_cc', 10, 4, 'E129', 'E129'), ('diabetes_without_cc', 10, 4, 'E130', 'E130'),
        ('diabetes_without_cc', 10, 4, 'E131', 'E131'), ('diabetes_without_cc', 10, 4, 'E136', 'E136'),
        ('diabetes_without_cc', 10, 4, 'E138', 'E138'), ('diabetes_without_cc', 10, 4, 'E139', 'E139'),
        ('diabetes_without_cc', 10, 4, 'E140', 'E140'), ('diabetes_without_cc', 10, 4, 'E141', 'E141'),
        ('diabetes_without_cc', 10, 4, 'E146', 'E146'), ('diabetes_without_cc', 10, 4, 'E148', 'E148'),
        ('diabetes_without_cc', 10, 4, 'E149', 'E149'),

        ('diabetes_with_cc', 9, 4, '2504', '2504'), ('diabetes_with_cc', 9, 4, '2505', '2505'),
        ('diabetes_with_cc', 9, 4, '2506', '2506'), ('diabetes_with_cc', 9, 4, '2507', '2507'),
        ('diabetes_with_cc', 10, 4, 'E102', 'E102'), ('diabetes_with_cc', 10, 4, 'E103', 'E103'),
        ('diabetes_with_cc', 10, 4, 'E104', 'E104'), ('diabetes_with_cc', 10, 4, 'E105', 'E105'),
        ('diabetes_with_cc', 10, 4, 'E107', 'E107'), ('diabetes_with_cc', 10, 4, 'E112', 'E112'),
        ('diabetes_with_cc', 10, 4, 'E113', 'E113'), ('diabetes_with_cc', 10, 4, 'E114', 'E114'),
        ('diabetes_with_cc', 10, 4, 'E115', 'E115'), ('diabetes_with_cc', 10, 4, 'E117', 'E117'),
        ('diabetes_with_cc', 10, 4, 'E122', 'E122'), ('diabetes_with_cc', 10, 4, 'E123', 'E123'),
        ('diabetes_with_cc', 10, 4, 'E124', 'E124'), ('diabetes_with_cc', 10, 4, 'E125', 'E125'),
        ('diabetes_with_cc', 10, 4, 'E127', 'E127'), ('diabetes_with_cc', 10, 4, 'E132', 'E132'),
        ('diabetes_with_cc', 10, 4, 'E133', 'E133'), ('diabetes_with_cc', 10, 4, 'E134', 'E134'),
        ('diabetes_with_cc', 10, 4, 'E135', 'E135'), ('diabetes_with_cc', 10, 4, 'E137', 'E137'),
        ('diabetes_with_cc', 10, 4, 'E142', 'E142'), ('diabetes_with_cc', 10, 4, 'E143', 'E143'),
        ('diabetes_with_cc', 10, 4, 'E144', 'E144'), ('diabetes_with_cc', 10, 4, 'E145', 'E145'),
        ('diabetes_with_cc', 10, 4, 'E147', 'E147'),

        ('paraplegia', 9, 3, '342', '342'), ('paraplegia', 9, 3, '343', '343'), ('paraplegia', 9, 4, '3341', '3341'),
        ('paraplegia', 9, 4, '3440', '3440'), ('paraplegia', 9, 4, '3441', '3441'), ('paraplegia', 9, 4, '3442', '3442'),
        ('paraplegia', 9, 4, '3443', '3443'), ('paraplegia', 9, 4, '3444', '3444'), ('paraplegia', 9, 4, '3445', '3445'),
        ('paraplegia', 9, 4, '3446', '3446'), ('paraplegia', 9, 4, '3449', '3449'), ('paraplegia', 10, 3, 'G81', 'G81'),
        ('paraplegia', 10, 3, 'G82', 'G82'), ('paraplegia', 10, 4, 'G041', 'G041'),
        ('paraplegia', 10, 4, 'G114', 'G114'), ('paraplegia', 10, 4, 'G801', 'G801'),
        ('paraplegia', 10, 4, 'G802', 'G802'), ('paraplegia', 10, 4, 'G830', 'G830'),
        ('paraplegia', 10, 4, 'G831', 'G831'), ('paraplegia', 10, 4, 'G832', 'G832'),
        ('paraplegia', 10, 4, 'G833', 'G833'), ('paraplegia', 10, 4, 'G834', 'G834'),
        ('paraplegia', 10, 4, 'G839', 'G839'),

        ('renal_disease', 9, 3, '582', '582'), ('renal_disease', 9, 3, '585', '585'),
        ('renal_disease', 9, 3, '586', '586'), ('renal_disease', 9, 3, 'V56', 'V56'),
        ('renal_disease', 9, 4, '5880', '5880'), ('renal_disease', 9, 4, 'V420', 'V420'),
        ('renal_disease', 9, 4, 'V451', 'V451'), ('renal_disease', 9, 4, '5830', '5837'),
        ('renal_disease', 9, 5, '40301', '40301'), ('renal_disease', 9, 5, '40311', '40311'),
        ('renal_disease', 9, 5, '40391', '40391'), ('renal_disease', 9, 5, '40402', '40402'),
        ('renal_disease', 9, 5, '40403', '40403'), ('renal_disease', 9, 5, '40412', '40412'),
        ('renal_disease', 9, 5, '40413', '40413'), ('renal_disease', 9, 5, '40492', '40492'),
        ('renal_disease', 9, 5, '40493', '40493'), ('renal_disease', 10, 3, 'N18', 'N18'),
        ('renal_disease', 10, 3, 'N19', 'N19'), ('renal_disease', 10, 4, 'I120', 'I120'),
        ('renal_disease', 10, 4, 'I131', 'I131'), ('renal_disease', 10, 4, 'N032', 'N032'),
        ('renal_disease', 10, 4, 'N033', 'N033'), ('renal_disease', 10, 4, 'N034', 'N034'),
        ('renal_disease', 10, 4, 'N035', 'N035'), ('renal_disease', 10, 4, 'N036', 'N036'),
        ('renal_disease', 10, 4, 'N037', 'N037'), ('renal_disease', 10, 4, 'N052', 'N052'),
        ('renal_disease', 10, 4, 'N053', 'N053'), ('renal_disease', 10, 4, 'N054', 'N054'),
        ('renal_disease', 10, 4, 'N055', 'N055'), ('renal_disease', 10, 4, 'N056', 'N056'),
        ('renal_disease', 10, 4, 'N057', 'N057'), ('renal_disease', 10, 4, 'N250', 'N250'),
        ('renal_disease', 10, 4, 'Z490', 'Z490'), ('renal_disease', 10, 4, 'Z491', 'Z491'),
        ('renal_disease', 10, 4, 'Z492', 'Z492'), ('renal_disease', 10, 4, 'Z940', 'Z940'),
        ('renal_disease', 10, 4, 'Z992', 'Z992'),

        ('malignant_cancer', 9, 3, '140', '172'), ('malignant_cancer', 9, 4, '1740', '1958'),
        ('malignant_cancer', 9, 3, '200', '208'), ('malignant_cancer', 9, 4, '2386', '2386'),
        ('malignant_cancer', 10, 3, 'C43', 'C43'), ('malignant_cancer', 10, 3, 'C88', 'C88'),
        ('malignant_cancer', 10, 3, 'C00', 'C26'), ('malignant_cancer', 10, 3, 'C30', 'C34'),
        ('malignant_cancer', 10, 3, 'C37', 'C41'), ('malignant_cancer', 10, 3, 'C45', 'C58'),
        ('malignant_cancer', 10, 3, 'C60', 'C76'), ('malignant_cancer', 10, 3, 'C81', 'C85'),
        ('malignant_cancer', 10, 3, 'C90', 'C97'),

        ('severe_liver_disease', 9, 4, '4560', '4560'), ('severe_liver_disease', 9, 4, '4561', '4561'),
        ('severe_liver_disease', 9, 4, '4562', '4562'), ('severe_liver_disease', 9, 4, '5722', '5728'),
        ('severe_liver_disease', 10, 4, 'I850', 'I850'), ('severe_liver_disease', 10, 4, 'I859', 'I859'),
        ('severe_liver_disease', 10, 4, 'I864', 'I864'), ('severe_liver_disease', 10, 4, 'I982', 'I982'),
        ('severe_liver_disease', 10, 4, 'K704', 'K704'), ('severe_liver_disease', 10, 4, 'K711', 'K711'),
        ('severe_liver_disease', 10, 4, 'K721', 'K721'), ('severe_liver_disease', 10, 4, 'K729', 'K729'),
        ('severe_liver_disease', 10, 4, 'K765', 'K765'), ('severe_liver_disease', 10, 4, 'K766', 'K766'),
        ('severe_liver_disease', 10, 4, 'K767', 'K767'),

        ('metastatic_solid_tumor', 9, 3, '196', '196'), ('metastatic_solid_tumor', 9, 3, '197', '197'),
        ('metastatic_solid_tumor', 9, 3, '198', '198'), ('metastatic_solid_tumor', 9, 3, '199', '199'),
        ('metastatic_solid_tumor', 10, 3, 'C77', 'C77'), ('metastatic_solid_tumor', 10, 3, 'C78', 'C78'),
        ('metastatic_solid_tumor', 10, 3, 'C79', 'C79'), ('metastatic_solid_tumor', 10, 3, 'C80', 'C80'),

        ('aids', 9, 3, '042', '042'), ('aids', 9, 3, '043', '043'), ('aids', 9, 3, '044', '044'),
        ('aids', 10, 3, 'B20', 'B20'), ('aids', 10, 3, 'B21', 'B21'), ('aids', 10, 3, 'B22', 'B22'),
        ('aids', 10, 3, 'B24', 'B24')
),

diagnosis AS (
    SELECT DISTINCT hadm_id, icd_version, icd_code
    FROM mimiciv_hosp.diagnoses_icd
),

-- each distinct code is looked up once
known_code AS (
    SELECT DISTINCT icd_version, icd_code
    FROM diagnosis
),

matched AS (
    SELECT DISTINCT known_code.icd_version, known_code.icd_code, code_list.condition
    FROM known_code
    INNER JOIN code_list
        ON code_list.icd_version = known_code.icd_version
        AND SUBSTR(known_code.icd_code, 1, code_list.characters) BETWEEN code_list.from_code AND code_list.to_code
),

condition_flag AS (
    SELECT
        diagnosis.hadm_id,
        MAX(CASE WHEN matched.condition = 'myocardial_infarct' THEN 1 ELSE 0 END) AS myocardial_infarct,
        MAX(CASE WHEN matched.condition = 'congestive_heart_failure' THEN 1 ELSE 0 END) AS congestive_heart_failure,
        MAX(CASE WHEN matched.condition = 'peripheral_vascular_disease' THEN 1 ELSE 0 END) AS peripheral_vascular_disease,
        MAX(CASE WHEN matched.condition = 'cerebrovascular_disease' THEN 1 ELSE 0 END) AS cerebrovascular_disease,
        MAX(CASE WHEN matched.condition = 'dementia' THEN 1 ELSE 0 END) AS dementia,
        MAX(CASE WHEN matched.condition = 'chronic_pulmonary_disease' THEN 1 ELSE 0 END) AS chronic_pulmonary_disease,
        MAX(CASE WHEN matched.condition = 'rheumatic_disease' THEN 1 ELSE 0 END) AS rheumatic_disease,
        MAX(CASE WHEN matched.condition = 'peptic_ulcer_disease' THEN 1 ELSE 0 END) AS peptic_ulcer_disease,
        MAX(CASE WHEN matched.condition = 'mild_liver_disease' THEN 1 ELSE 0 END) AS mild_liver_disease,
        MAX(CASE WHEN matched.condition = 'diabetes_without_cc' THEN 1 ELSE 0 END) AS diabetes_without_cc,
        MAX(CASE WHEN matched.condition = 'diabetes_with_cc' THEN 1 ELSE 0 END) AS diabetes_with_cc,
        MAX(CASE WHEN matched.condition = 'paraplegia' THEN 1 ELSE 0 END) AS paraplegia,
        MAX(CASE WHEN matched.condition = 'renal_disease' THEN 1 ELSE 0 END) AS renal_disease,
        MAX(CASE WHEN matched.condition = 'malignant_cancer' THEN 1 ELSE 0 END) AS malignant_cancer,
        MAX(CASE WHEN matched.condition = 'severe_liver_disease' THEN 1 ELSE 0 END) AS severe_liver_disease,
        MAX(CASE WHEN matched.condition = 'metastatic_solid_tumor' THEN 1 ELSE 0 END) AS metastatic_solid_tumor,
        MAX(CASE WHEN matched.condition = 'aids' THEN 1 ELSE 0 END) AS aids
    FROM diagnosis
    INNER JOIN matched
        ON matched.icd_version = diagnosis.icd_version AND matched.icd_code = diagnosis.icd_code
    GROUP BY diagnosis.hadm_id
),

flagged AS (
    SELECT
        admission.subject_id,
        admission.hadm_id,
        CASE
            WHEN patient_age.hadm_id IS NULL THEN NULL
            WHEN patient_age.age <= 50 THEN 0
            WHEN patient_age.age <= 60 THEN 1
            WHEN patient_age.age <= 70 THEN 2
            WHEN patient_age.age <= 80 THEN 3
            ELSE 4
        END AS age_score,
        COALESCE(condition_flag.myocardial_infarct, 0) AS myocardial_infarct,
        COALESCE(condition_flag.congestive_heart_failure, 0) AS congestive_heart_failure,
        COALESCE(condition_flag.peripheral_vascular_disease, 0) AS peripheral_vascular_disease,
        COALESCE(condition_flag.cerebrovascular_disease, 0) AS cerebrovascular_disease,
        COALESCE(condition_flag.dementia, 0) AS dementia,
        COALESCE(condition_flag.chronic_pulmonary_disease, 0) AS chronic_pulmonary_disease,
        COALESCE(condition_flag.rheumatic_disease, 0) AS rheumatic_disease,
        COALESCE(condition_flag.peptic_ulcer_disease, 0) AS peptic_ulcer_disease,
        COALESCE(condition_flag.mild_liver_disease, 0) AS mild_liver_disease,
        COALESCE(condition_flag.diabetes_without_cc, 0) AS diabetes_without_cc,
        COALESCE(condition_flag.diabetes_with_cc, 0) AS diabetes_with_cc,
        COALESCE(condition_flag.paraplegia, 0) AS paraplegia,
        COALESCE(condition_flag.renal_disease, 0) AS renal_disease,
        COALESCE(condition_flag.malignant_cancer, 0) AS malignant_cancer,
        COALESCE(condition_flag.severe_liver_disease, 0) AS severe_liver_disease,
        COALESCE(condition_flag.metastatic_solid_tumor, 0) AS metastatic_solid_tumor,
        COALESCE(condition_flag.aids, 0) AS aids
    FROM mimiciv_hosp.admissions AS admission
    LEFT JOIN condition_flag ON condition_flag.hadm_id = admission.hadm_id
    LEFT JOIN mimiciv_derived.age AS patient_age ON patient_age.hadm_id = admission.hadm_id
)

SELECT
    subject_id,
    hadm_id,
    age_score,
    myocardial_infarct,
    congestive_heart_failure,
    peripheral_vascular_disease,
    cerebrovascular_disease,
    dementia,
    chronic_pulmonary_disease,
    rheumatic_disease,
    peptic_ulcer_disease,
    mild_liver_disease,
    diabetes_without_cc,
    diabetes_with_cc,
    paraplegia,
    renal_disease,
    malignant_cancer,
    severe_liver_disease,
    metastatic_solid_tumor,
    aids,
    age_score
    + myocardial_infarct + congestive_heart_failure + peripheral_vascular_disease + cerebrovascular_disease
    + dementia + chronic_pulmonary_disease + rheumatic_disease + peptic_ulcer_disease
    + GREATEST(mild_liver_disease, 3 * severe_liver_disease)
    + GREATEST(2 * diabetes_with_cc, diabetes_without_cc)
    + GREATEST(2 * malignant_cancer, 6 * metastatic_solid_tumor)
    + 2 * paraplegia
    + 2 * renal_disease
    + 6 * aids AS charlson_comorbidity_index
FROM flagged
