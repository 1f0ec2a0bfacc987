-- Prescriptions of systemic antimicrobials, with the ICU stay in which they start.
-- Grain:  one row per prescription and ICU stay that contains its start (one row without a stay when none does).
-- Source: public concept MIT-LCP/mimic-code medication/antibiotic; generic and trade names anywhere in the drug text.
-- Rules:  drug and route decide; a diluent (BASE) row stays when the same drug and route also occur as a medication.
WITH antimicrobial AS (
    SELECT UNNEST([
        'adoxa', 'ala-tet', 'alodox', 'amikacin', 'amikin', 'amoxicill', 'amphotericin', 'ampicillin', 'ancef',
        'anidulafungin', 'augmentin', 'avelox', 'avidoxy', 'axetil', 'azactam', 'azithromycin', 'aztreonam',
        'bactocill', 'bactrim', 'bactroban', 'bethkis', 'biaxin', 'bicillin l-a', 'cayston', 'cedax', 'cefaclor',
        'cefadroxil', 'cefazolin', 'cefdinir', 'cefditoren', 'cefepime', 'cefotan', 'cefotaxime', 'cefotetan',
        'cefoxitin', 'cefpirome', 'cefpodoxime', 'cefprozil', 'ceftaroline', 'ceftazidime', 'ceftibuten', 'ceftin',
        'ceftriaxone', 'cefuroxime', 'cephalexin', 'cephalothin', 'cephapririn', 'chloramphenicol', 'cipro',
        'ciprofloxacin', 'claforan', 'clarithromycin', 'clavulanate', 'cleocin', 'clindamycin', 'cubicin',
        'dicloxacillin', 'dirithromycin', 'doryx', 'doxycy', 'duricef', 'dynacin', 'ery-tab', 'eryc', 'eryped',
        'erythrocin', 'erythromycin', 'factive', 'flagyl', 'fortaz', 'furadantin', 'garamycin', 'gentamicin',
        'kanamycin', 'keflex', 'kefzol', 'ketek', 'levaquin', 'levofloxacin', 'lincocin', 'linezolid', 'macrobid',
        'macrodantin', 'maxipime', 'mefoxin', 'meropenem', 'methicillin', 'metronidazole', 'minocin', 'minocycline',
        'monodox', 'monurol', 'morgidox', 'moxatag', 'moxifloxacin', 'mupirocin', 'myrac', 'nafcillin', 'neomycin',
        'nicazel doxy 30', 'nitrofurantoin', 'norfloxacin', 'noroxin', 'ocudox', 'ofloxacin', 'omnicef', 'oracea',
        'oraxyl', 'oxacillin', 'panixine', 'pc pen vk', 'pce dispertab', 'pediazole', 'penicillin', 'periostat',
        'pfizerpen', 'piperacillin', 'primsol', 'proquin', 'raniclor', 'rifadin', 'rifampin', 'rocephin', 'septra',
        'septra ds', 'smz-tmp', 'solodyn', 'spectracef', 'streptomycin', 'sulfadiazine', 'sulfamethoxazole',
        'sulfatrim', 'sulfisoxazole', 'suprax', 'synercid', 'tazicef', 'tazobactam', 'tetracycline', 'timentin',
        'tobramycin', 'trimethoprim', 'unasyn', 'vancocin', 'vancomycin', 'vantin', 'vibativ', 'vibra-tabs',
        'vibramycin', 'zinacef', 'zithromax', 'zosyn', 'zyvox'
    ]) AS name
),

medication AS (
    SELECT DISTINCT drug, route
    FROM mimiciv_hosp.prescriptions
    WHERE drug_type <> 'BASE'
        AND route NOT IN ('OU', 'OS', 'OD', 'AU', 'AS', 'AD', 'TP') -- eyes, ears, topical
        AND NOT CONTAINS(LOWER(route), 'ear')
        AND NOT CONTAINS(LOWER(route), 'eye')
        AND NOT CONTAINS(LOWER(drug), 'cream')
        AND NOT CONTAINS(LOWER(drug), 'desensitization')
        AND NOT CONTAINS(LOWER(drug), 'ophth oint')
        AND NOT CONTAINS(LOWER(drug), 'gel')
),

antibiotic_medication AS (
    SELECT drug, route
    FROM medication
    WHERE EXISTS (SELECT 1 FROM antimicrobial WHERE CONTAINS(LOWER(medication.drug), antimicrobial.name))
)

SELECT
    prescription.subject_id,
    prescription.hadm_id,
    stay.stay_id,
    prescription.drug AS antibiotic,
    prescription.route,
    prescription.starttime,
    prescription.stoptime
FROM mimiciv_hosp.prescriptions AS prescription
INNER JOIN antibiotic_medication
    ON prescription.drug = antibiotic_medication.drug
    AND prescription.route = antibiotic_medication.route
LEFT JOIN mimiciv_icu.icustays AS stay
    ON prescription.hadm_id = stay.hadm_id
    AND prescription.starttime >= stay.intime
    AND prescription.starttime < stay.outtime
