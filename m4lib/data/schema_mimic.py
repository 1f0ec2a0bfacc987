"""The 31 tables of MIMIC-IV, releases 2.2 to 3.1 (2.0 lacks the columns that name a provider or a caregiver)."""

SCHEMAS = {"hosp": "mimiciv_hosp", "icu": "mimiciv_icu"}

TABLES = {
    "hosp/admissions!": """
        subject_id:int hadm_id:int admittime:time dischtime:time deathtime:time admission_type:text
        admit_provider_id:text? admission_location:text discharge_location:text insurance:text? language:text?
        marital_status:text? race:text edregtime:time edouttime:time hospital_expire_flag:int""",
    "hosp/d_hcpcs": "code:text category:int long_description:text short_description:text",
    "hosp/d_icd_diagnoses": "icd_code:text icd_version:int long_title:text",
    "hosp/d_icd_procedures": "icd_code:text icd_version:int long_title:text",
    "hosp/d_labitems": "itemid:int label:text fluid:text category:text",
    "hosp/diagnoses_icd!": "subject_id:int hadm_id:int seq_num:int icd_code:text icd_version:int",
    "hosp/drgcodes": """
        subject_id:int hadm_id:int drg_type:text drg_code:text description:text drg_severity:int drg_mortality:int""",
    "hosp/emar": """
        subject_id:int hadm_id:int emar_id:text emar_seq:int poe_id:text pharmacy_id:int enter_provider_id:text?
        charttime:time medication:text event_txt:text scheduletime:time storetime:time""",
    # parent_field_ordinal is an outline number: 1.1 and 1.10 differ
    "hosp/emar_detail": """
        subject_id:int emar_id:text emar_seq:int parent_field_ordinal:text administration_type:text pharmacy_id:int
        barcode_type:text reason_for_no_barcode:text complete_dose_not_given:text dose_due:text dose_due_unit:text
        dose_given:text dose_given_unit:text will_remainder_of_dose_be_given:text product_amount_given:text
        product_unit:text product_code:text product_description:text product_description_other:text
        prior_infusion_rate:text infusion_rate:text infusion_rate_adjustment:text
        infusion_rate_adjustment_amount:text infusion_rate_unit:text route:text infusion_complete:text
        completion_interval:text new_iv_bag_hung:text continued_infusion_in_other_location:text
        restart_interval:text side:text site:text non_formulary_visual_verification:text""",
    "hosp/hcpcsevents": """
        subject_id:int hadm_id:int chartdate:date hcpcs_cd:text seq_num:int short_description:text""",
    "hosp/labevents!": """
        labevent_id:int subject_id:int hadm_id:int specimen_id:int itemid:int order_provider_id:text? charttime:time
        storetime:time value:text valuenum:num valueuom:text ref_range_lower:num ref_range_upper:num flag:text
        priority:text comments:text""",
    "hosp/microbiologyevents!": """
        microevent_id:int subject_id:int hadm_id:int micro_specimen_id:int order_provider_id:text? chartdate:time
        charttime:time spec_itemid:int spec_type_desc:text test_seq:int storedate:time storetime:time
        test_itemid:int test_name:text org_itemid:int org_name:text isolate_num:int quantity:text ab_itemid:int
        ab_name:text dilution_text:text dilution_comparison:text dilution_value:num interpretation:text
        comments:text""",
    "hosp/omr": "subject_id:int chartdate:date seq_num:int result_name:text result_value:text",
    "hosp/patients!": """
        subject_id:int gender:text anchor_age:int anchor_year:int anchor_year_group:text dod:date""",
    "hosp/pharmacy": """
        subject_id:int hadm_id:int pharmacy_id:int poe_id:text starttime:time stoptime:time medication:text
        proc_type:text status:text entertime:time verifiedtime:time route:text frequency:text disp_sched:text
        infusion_type:text sliding_scale:text lockout_interval:text basal_rate:num one_hr_max:text
        doses_per_24_hrs:num duration:num duration_interval:text expiration_value:num expiration_unit:text
        expirationdate:time dispensation:text fill_quantity:text""",
    "hosp/poe": """
        poe_id:text poe_seq:int subject_id:int hadm_id:int ordertime:time order_type:text order_subtype:text
        transaction_type:text discontinue_of_poe_id:text discontinued_by_poe_id:text order_provider_id:text?
        order_status:text""",
    "hosp/poe_detail": "poe_id:text poe_seq:int subject_id:int field_name:text field_value:text",
    "hosp/prescriptions!": """
        subject_id:int hadm_id:int pharmacy_id:int poe_id:text poe_seq:int order_provider_id:text? starttime:time
        stoptime:time drug_type:text drug:text formulary_drug_cd:text? gsn:text ndc:text prod_strength:text
        form_rx:text dose_val_rx:text dose_unit_rx:text form_val_disp:text form_unit_disp:text
        doses_per_24_hrs:num route:text""",
    "hosp/procedures_icd": """
        subject_id:int hadm_id:int seq_num:int chartdate:date icd_code:text icd_version:int""",
    "hosp/provider": "provider_id:text",
    "hosp/services!": "subject_id:int hadm_id:int transfertime:time prev_service:text curr_service:text",
    "hosp/transfers": """
        subject_id:int hadm_id:int transfer_id:int eventtype:text careunit:text intime:time outtime:time""",
    "icu/caregiver": "caregiver_id:int",
    "icu/chartevents!": """
        subject_id:int hadm_id:int stay_id:int caregiver_id:int? charttime:time storetime:time itemid:int value:text
        valuenum:num valueuom:text warning:int""",
    "icu/d_items!": """
        itemid:int label:text abbreviation:text linksto:text category:text unitname:text param_type:text
        lownormalvalue:num highnormalvalue:num""",
    "icu/datetimeevents": """
        subject_id:int hadm_id:int stay_id:int caregiver_id:int? charttime:time storetime:time itemid:int value:time
        valueuom:text warning:int""",
    "icu/icustays!": """
        subject_id:int hadm_id:int stay_id:int first_careunit:text last_careunit:text intime:time outtime:time
        los:num""",
    "icu/ingredientevents": """
        subject_id:int hadm_id:int stay_id:int caregiver_id:int? starttime:time endtime:time storetime:time
        itemid:int amount:num amountuom:text rate:num rateuom:text orderid:int linkorderid:int
        statusdescription:text originalamount:num originalrate:num""",
    "icu/inputevents!": """
        subject_id:int hadm_id:int stay_id:int caregiver_id:int? starttime:time endtime:time storetime:time
        itemid:int amount:num amountuom:text rate:num rateuom:text orderid:int linkorderid:int
        ordercategoryname:text secondaryordercategoryname:text ordercomponenttypedescription:text
        ordercategorydescription:text patientweight:num totalamount:num totalamountuom:text isopenbag:int
        continueinnextdept:int statusdescription:text originalamount:num originalrate:num""",
    "icu/outputevents!": """
        subject_id:int hadm_id:int stay_id:int caregiver_id:int? charttime:time storetime:time itemid:int value:num
        valueuom:text""",
    "icu/procedureevents!": """
        subject_id:int hadm_id:int stay_id:int caregiver_id:int? starttime:time endtime:time storetime:time
        itemid:int value:num valueuom:text location:text locationcategory:text orderid:int linkorderid:int
        ordercategoryname:text ordercategorydescription:text patientweight:num isopenbag:int
        continueinnextdept:int statusdescription:text originalamount:num originalrate:num""",
}
