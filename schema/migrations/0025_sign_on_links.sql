-- Works from: 0018
--
-- Whether a sign-in finds a user by a verified address alone. On, as it was before.
ALTER TABLE sign_ons {{on_cluster}}
  ADD COLUMN IF NOT EXISTS link_email Bool DEFAULT true
    COMMENT 'a verified address finds a user who is not linked to an identity yet' AFTER trust_email;
