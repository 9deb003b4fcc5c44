module auditlog

go 1.19
