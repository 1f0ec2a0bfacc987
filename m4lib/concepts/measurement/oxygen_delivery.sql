-- Oxygen flow and up to four oxygen devices.
-- Grain:  one row per subject_id and charttime with an oxygen flow; a device without a flow at its time is left out.
-- Source: public concept MIT-LCP/mimic-code measurement/oxygen_delivery.
-- Units:  L/min. Of several flows the one stored last is kept, of those stored together the highest.
WITH charted_flow AS (
    SELECT
        subject_id,
        stay_id,
        charttime,
        storetime,
        valuenum,
        CASE WHEN itemid = 227287 THEN 'additional' ELSE 'main' END AS kind
    FROM mimiciv_icu.chartevents
    WHERE value IS NOT NULL
        AND itemid IN (
            223834, -- O2 Flow
            227582, -- BiPap O2 Flow, counts as O2 Flow
            227287  -- O2 Flow (additional cannula)
        )
),

flow AS (
    SELECT *
    FROM charted_flow
    QUALIFY ROW_NUMBER() OVER (
        PARTITION BY subject_id, charttime, kind
        ORDER BY storetime DESC NULLS LAST, valuenum DESC NULLS LAST, stay_id
    ) = 1
),

-- devices in alphabetical order; a device without a text takes the first place
device AS (
    SELECT
        subject_id,
        stay_id,
        charttime,
        value AS name,
        ROW_NUMBER() OVER (PARTITION BY subject_id, charttime ORDER BY value NULLS FIRST) AS place
    FROM mimiciv_icu.chartevents
    WHERE itemid = 226732 -- O2 Delivery Device(s)
)

SELECT
    flow.subject_id,
    MAX(COALESCE(flow.stay_id, device.stay_id)) AS stay_id,
    flow.charttime,
    MAX(CASE WHEN flow.kind = 'main' THEN flow.valuenum END) AS o2_flow,
    MAX(CASE WHEN flow.kind = 'additional' THEN flow.valuenum END) AS o2_flow_additional,
    MAX(CASE WHEN device.place = 1 THEN device.name END) AS o2_delivery_device_1,
    MAX(CASE WHEN device.place = 2 THEN device.name END) AS o2_delivery_device_2,
    MAX(CASE WHEN device.place = 3 THEN device.name END) AS o2_delivery_device_3,
    MAX(CASE WHEN device.place = 4 THEN device.name END) AS o2_delivery_device_4
FROM flow
LEFT JOIN device
    ON flow.subject_id = device.subject_id
    AND flow.charttime = device.charttime
GROUP BY flow.subject_id, flow.charttime
