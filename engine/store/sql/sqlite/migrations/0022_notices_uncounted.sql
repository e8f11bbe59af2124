-- `tenant.schedules` counts what the tenant wrote as schedules; that of its failure notices is none of them.
UPDATE tenant SET schedules = schedules - 1
WHERE EXISTS (SELECT 1 FROM schedule s
  WHERE s.tenant = tenant.name AND s.name = 'sch_notices' AND s.deleted_at IS NULL);
