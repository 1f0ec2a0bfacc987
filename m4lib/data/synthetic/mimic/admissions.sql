SELECT subject_id, hadm_id, ts(admit_s) AS admittime, ts(disch_s) AS dischtime,
    CASE WHEN died THEN ts(disch_s) END AS deathtime, admission_type,
    'PSYN' || (hadm_id % 400) AS admit_provider_id,
    pick(['EMERGENCY ROOM', 'EMERGENCY ROOM', 'PHYSICIAN REFERRAL', 'TRANSFER FROM HOSPITAL', 'WALK-IN/SELF REFERRAL', 'CLINIC REFERRAL'], u('from', hadm_id, 0)) AS admission_location,
    CASE WHEN died THEN 'DIED' ELSE pick(['HOME', 'HOME HEALTH CARE', 'SKILLED NURSING FACILITY', 'REHAB', 'HOSPICE', NULL], u('to', hadm_id, 0)) END AS discharge_location,
    pick(['Medicare', 'Medicaid', 'Private', 'Other', 'No charge'], u('pays', j, 0)) AS insurance,
    pick(['English', 'English', 'English', 'Spanish', 'Chinese', 'Russian', NULL], u('speaks', j, 0)) AS language,
    pick(['MARRIED', 'SINGLE', 'WIDOWED', 'DIVORCED', NULL], u('married', j, 0)) AS marital_status,
    pick(['WHITE', 'WHITE', 'WHITE', 'BLACK/AFRICAN AMERICAN', 'ASIAN', 'HISPANIC OR LATINO', 'OTHER', 'UNKNOWN', 'PATIENT DECLINED TO ANSWER'], u('race', j, 0)) AS race,
    CASE WHEN admission_type = 'EW EMER.' THEN ts(admit_s - 60 * (30 + (u('ed', hadm_id, 0) * 600)::BIGINT)) END AS edregtime,
    CASE WHEN admission_type = 'EW EMER.' THEN ts(admit_s + 60 * (u('ed', hadm_id, 1) * 200)::BIGINT) END AS edouttime,
    died::BIGINT AS hospital_expire_flag
FROM visit ORDER BY hadm_id
