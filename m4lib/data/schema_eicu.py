"""The 31 tables of the eICU Collaborative Research Database 2.0. Offsets are minutes from unit admission.

Times of day (`...time24`) and the True/False columns are text as published. Charted values stay text because they
mix numbers with words; so does `age`, which holds `> 89`.
"""

SCHEMAS = {"": "eicu_crd"}

TABLES = {
    "admissiondrug": """
        admissiondrugid:int patientunitstayid:int drugoffset:int drugenteredoffset:int drugnotetype:text
        specialtytype:text usertype:text rxincluded:text writtenineicu:text drugname:text drugdosage:num
        drugunit:text drugadmitfrequency:text drughiclseqno:int""",
    "admissiondx": """
        admissiondxid:int patientunitstayid:int admitdxenteredoffset:int admitdxpath:text admitdxname:text
        admitdxtext:text""",
    "allergy": """
        allergyid:int patientunitstayid:int allergyoffset:int allergyenteredoffset:int allergynotetype:text
        specialtytype:text usertype:text rxincluded:text writtenineicu:text drugname:text allergytype:text
        allergyname:text drughiclseqno:int""",
    "apacheapsvar!": """
        apacheapsvarid:int patientunitstayid:int intubated:int vent:int dialysis:int eyes:int motor:int verbal:int
        meds:int urine:num wbc:num temperature:num respiratoryrate:num sodium:num heartrate:num meanbp:num ph:num
        hematocrit:num creatinine:num albumin:num pao2:num pco2:num bun:num glucose:num bilirubin:num fio2:num""",
    "apachepatientresult": """
        apachepatientresultsid:int patientunitstayid:int physicianspeciality:text physicianinterventioncategory:text
        acutephysiologyscore:int apachescore:int apacheversion:text predictedicumortality:num
        actualicumortality:text predictediculos:num actualiculos:num predictedhospitalmortality:num
        actualhospitalmortality:text predictedhospitallos:num actualhospitallos:num preopmi:int
        preopcardiaccath:int ptcawithin24h:int unabridgedunitlos:num unabridgedhosplos:num actualventdays:num
        predventdays:num unabridgedactualventdays:num""",
    "apachepredvar!": """
        apachepredvarid:int patientunitstayid:int sicuday:int saps3day1:int saps3today:int saps3yesterday:int
        gender:int teachtype:int region:int bedcount:int admitsource:int graftcount:int meds:int verbal:int
        motor:int eyes:int age:int admitdiagnosis:text thrombolytics:int diedinhospital:int aids:int
        hepaticfailure:int lymphoma:int metastaticcancer:int leukemia:int immunosuppression:int cirrhosis:int
        electivesurgery:int activetx:int readmit:int ima:int midur:int ventday1:int oobventday1:int
        oobintubday1:int diabetes:int managementsystem:int var03hspxlos:num pao2:num fio2:num ejectfx:num
        creatinine:num dischargelocation:int visitnumber:int amilocation:int day1meds:int day1verbal:int
        day1motor:int day1eyes:int day1pao2:num day1fio2:num""",
    "careplancareprovider": """
        cplcareprovderid:int patientunitstayid:int careprovidersaveoffset:int providertype:text specialty:text
        interventioncategory:text managingphysician:text activeupondischarge:text""",
    "careplaneol": """
        cpleolid:int patientunitstayid:int cpleolsaveoffset:int cpleoldiscussionoffset:int
        activeupondischarge:text""",
    "careplangeneral": """
        cplgeneralid:int patientunitstayid:int activeupondischarge:text cplitemoffset:int cplgroup:text
        cplitemvalue:text""",
    "careplangoal": """
        cplgoalid:int patientunitstayid:int cplgoaloffset:int cplgoalcategory:text cplgoalvalue:text
        cplgoalstatus:text activeupondischarge:text""",
    "careplaninfectiousdisease": """
        cplinfectid:int patientunitstayid:int activeupondischarge:text cplinfectdiseaseoffset:int
        infectdiseasesite:text infectdiseaseassessment:text responsetotherapy:text treatment:text""",
    "customlab": """
        customlabid:int patientunitstayid:int labotheroffset:int labothertypeid:int labothername:text
        labotherresult:text labothervaluetext:text""",
    "diagnosis": """
        diagnosisid:int patientunitstayid:int activeupondischarge:text diagnosisoffset:int diagnosisstring:text
        icd9code:text diagnosispriority:text""",
    "hospital": "hospitalid:int numbedscategory:text teachingstatus:text region:text",
    "infusiondrug": """
        infusiondrugid:int patientunitstayid:int infusionoffset:int drugname:text drugrate:text infusionrate:text
        drugamount:text volumeoffluid:text patientweight:text""",
    "intakeoutput!": """
        intakeoutputid:int patientunitstayid:int intakeoutputoffset:int intaketotal:num outputtotal:num
        dialysistotal:num nettotal:num intakeoutputentryoffset:int cellpath:text celllabel:text
        cellvaluenumeric:num cellvaluetext:text""",
    "lab": """
        labid:int patientunitstayid:int labresultoffset:int labtypeid:int labname:text labresult:num
        labresulttext:text labmeasurenamesystem:text labmeasurenameinterface:text labresultrevisedoffset:int""",
    "medication": """
        medicationid:int patientunitstayid:int drugorderoffset:int drugstartoffset:int drugivadmixture:text
        drugordercancelled:text drugname:text drughiclseqno:int dosage:text routeadmin:text frequency:text
        loadingdose:text prn:text drugstopoffset:int gtc:int""",
    "microlab": """
        microlabid:int patientunitstayid:int culturetakenoffset:int culturesite:text organism:text antibiotic:text
        sensitivitylevel:text""",
    "note": """
        noteid:int patientunitstayid:int noteoffset:int noteenteredoffset:int notetype:text notepath:text
        notevalue:text notetext:text""",
    "nurseassessment": """
        nurseassessid:int patientunitstayid:int nurseassessoffset:int nurseassessentryoffset:int
        cellattributepath:text celllabel:text cellattribute:text cellattributevalue:text""",
    "nursecare": """
        nursecareid:int patientunitstayid:int celllabel:text nursecareoffset:int nursecareentryoffset:int
        cellattributepath:text cellattribute:text cellattributevalue:text""",
    "nursecharting!": """
        nursingchartid:int patientunitstayid:int nursingchartoffset:int nursingchartentryoffset:int
        nursingchartcelltypecat:text nursingchartcelltypevallabel:text nursingchartcelltypevalname:text
        nursingchartvalue:text""",
    "pasthistory": """
        pasthistoryid:int patientunitstayid:int pasthistoryoffset:int pasthistoryenteredoffset:int
        pasthistorynotetype:text pasthistorypath:text pasthistoryvalue:text pasthistoryvaluetext:text""",
    "patient!": """
        patientunitstayid:int patienthealthsystemstayid:int gender:text age:text ethnicity:text hospitalid:int
        wardid:int apacheadmissiondx:text admissionheight:num hospitaladmittime24:text hospitaladmitoffset:int
        hospitaladmitsource:text hospitaldischargeyear:int hospitaldischargetime24:text hospitaldischargeoffset:int
        hospitaldischargelocation:text hospitaldischargestatus:text unittype:text unitadmittime24:text
        unitadmitsource:text unitvisitnumber:int unitstaytype:text admissionweight:num dischargeweight:num
        unitdischargetime24:text unitdischargeoffset:int unitdischargelocation:text unitdischargestatus:text
        uniquepid:text""",
    "physicalexam!": """
        physicalexamid:int patientunitstayid:int physicalexamoffset:int physicalexampath:text
        physicalexamvalue:text physicalexamtext:text""",
    "respiratorycare!": """
        respcareid:int patientunitstayid:int respcarestatusoffset:int currenthistoryseqnum:int airwaytype:text
        airwaysize:text airwayposition:text cuffpressure:num ventstartoffset:int ventendoffset:int
        priorventstartoffset:int priorventendoffset:int apneaparams:text lowexhmvlimit:num hiexhmvlimit:num
        lowexhtvlimit:num hipeakpreslimit:num lowpeakpreslimit:num hirespratelimit:num lowrespratelimit:num
        sighpreslimit:num lowironoxlimit:num highironoxlimit:num meanairwaypreslimit:num peeplimit:num
        cpaplimit:num setapneainterval:text setapneatv:text setapneaippeephigh:text setapnearr:text
        setapneapeakflow:text setapneainsptime:text setapneaie:text setapneafio2:text""",
    "respiratorycharting": """
        respchartid:int patientunitstayid:int respchartoffset:int respchartentryoffset:int respcharttypecat:text
        respchartvaluelabel:text respchartvalue:text""",
    "treatment": """
        treatmentid:int patientunitstayid:int treatmentoffset:int treatmentstring:text activeupondischarge:text""",
    "vitalaperiodic": """
        vitalaperiodicid:int patientunitstayid:int observationoffset:int noninvasivesystolic:num
        noninvasivediastolic:num noninvasivemean:num paop:num cardiacoutput:num cardiacinput:num svr:num svri:num
        pvr:num pvri:num""",
    "vitalperiodic": """
        vitalperiodicid:int patientunitstayid:int observationoffset:int temperature:num sao2:num heartrate:num
        respiration:num cvp:num etco2:num systemicsystolic:num systemicdiastolic:num systemicmean:num
        pasystolic:num padiastolic:num pamean:num st1:num st2:num st3:num icp:num""",
}
