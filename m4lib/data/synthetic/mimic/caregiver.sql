SELECT 90000 + range AS caregiver_id FROM range(997)
