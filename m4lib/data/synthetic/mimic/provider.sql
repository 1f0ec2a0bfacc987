SELECT 'PSYN' || range AS provider_id FROM range(400)
