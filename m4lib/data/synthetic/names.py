"""File names of eICU as published (table names in the database are the lower-case form)."""

EICU_FILES = {
    name.lower(): name
    for name in (
        "admissionDrug", "admissionDx", "allergy", "apacheApsVar", "apachePatientResult", "apachePredVar",
        "carePlanCareProvider", "carePlanEOL", "carePlanGeneral", "carePlanGoal", "carePlanInfectiousDisease",
        "customLab", "diagnosis", "hospital", "infusionDrug", "intakeOutput", "lab", "medication", "microLab", "note",
        "nurseAssessment", "nurseCare", "nurseCharting", "pastHistory", "patient", "physicalExam", "respiratoryCare",
        "respiratoryCharting", "treatment", "vitalAperiodic", "vitalPeriodic",
    )
}  # fmt: skip
