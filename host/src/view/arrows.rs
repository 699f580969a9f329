//! Where arrows stand, and what has changed since they were judged.

use super::{View, ViewError, empty_record, find_arrow};
use crate::audit::TREE_DIR;
use crate::db::Row;
use crate::grid::{Arrow, Clause};
use crate::policy::{Attestation, PolicyError};
use crate::subject::changed::{self, Change};
use crate::subject::{SubjectError, SubjectStore, of_grid};
use crate::work::status::{self, ArrowStatus, ArrowView, ClauseView};
use crate::work::{Verdict, standing};

impl View {
    /// Where an arrow stands.
    ///
    /// # Errors
    /// `arrow-unknown`, `engine-db-…`.
    pub fn arrow(&self, id: &str) -> Result<(&Arrow, ArrowView), ViewError> {
        let arrow = find_arrow(&self.grid, id)?;
        Ok((arrow, self.stands(arrow)?))
    }

    /// All arrows of the grid, with where they stand.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn arrows(&self) -> Result<Vec<(&Arrow, ArrowView)>, ViewError> {
        self.grid
            .arrows
            .iter()
            .map(|arrow| Ok((arrow, self.stands(arrow)?)))
            .collect()
    }

    fn stands(&self, arrow: &Arrow) -> Result<ArrowView, ViewError> {
        self.present.look_at(arrow);
        let mut view = self
            .read(|reader| status::arrow(reader, &self.policy, &self.present, &self.grid, arrow))?;
        if self.may_concern(arrow)? {
            view.status = ArrowStatus::Unreadable;
        }
        Ok(view)
    }

    /// Whether something that cannot be read may be about an arrow: it stands,
    /// or would stand, where the arrow's records do.
    fn may_concern(&self, arrow: &Arrow) -> Result<bool, ViewError> {
        if self.loaded.damage.is_empty() {
            return Ok(false);
        }
        if self.loaded.damaged > self.loaded.damage.len() {
            return Ok(true);
        }
        let place = self.policy.encode_path(&Attestation {
            grid_version: self.grid.version,
            attested_by_role: "operator".to_owned(),
            source_role: arrow.source_role.clone(),
            target_role: arrow.target_role.clone(),
            adversary_role: arrow.adversary_role.clone().unwrap_or_default(),
            context: arrow.context.clone(),
            stratum: arrow.stratum.clone(),
            pass_id: "any".to_owned(),
            ..empty_record()
        })?;
        let own = format!("{}/{}", TREE_DIR, place.path);
        let init = format!("{}/v{}/init/", TREE_DIR, self.grid.version);
        let dir = own.rsplit_once('/').map_or("", |(dir, _)| dir);
        Ok(self.loaded.damage.iter().any(|damage| {
            damage.path().is_none_or(|path| {
                path.starts_with(dir)
                    || dir.starts_with(path.as_str())
                    || path.starts_with(&init)
                    || init.starts_with(path.as_str())
            })
        }))
    }

    /// What changed in the covered files since the verdict that counts on a
    /// clause; nothing if there is none, or they are the same.
    ///
    /// # Errors
    /// `subject-missing` and `subject-corrupt`, if the list of what was judged
    /// is gone.
    pub fn changed(
        &self,
        arrow: &Arrow,
        clause: &Clause,
        stands: &ClauseView,
    ) -> Result<Vec<Change>, SubjectError> {
        if stands.judged.is_empty() || stands.judged == stands.subject {
            return Ok(Vec::new());
        }
        let look = self.present.of(arrow.covers_of(clause));
        let (Some(Ok(now)), Ok(judged)) = (look.as_deref(), stands.judged.parse()) else {
            return Ok(Vec::new());
        };
        let before = SubjectStore::new(&self.disk).read(&judged)?;
        let mut changes = changed::between(&before, &now.manifest);
        changed::count_lines(self.project.root(), &mut changes);
        Ok(changes)
    }

    /// Whether the grid in force is attested as far as it has to be: in a
    /// project where a grid was, the one in force must be. Names the arrows
    /// that lack it.
    ///
    /// # Errors
    /// `engine-db-…`, and what reading the grid's file refuses.
    pub fn unattested(&self) -> Result<Vec<String>, ViewError> {
        let named = |row: &Row| {
            let hint = self.policy.decode_hint(&row.rec.hint_json)?;
            Ok::<_, PolicyError>(hint.subject)
        };
        let mut bound = false;
        for row in self.read(|reader| reader.on_the_spot())? {
            bound |= !named(&row)?.is_empty();
        }
        if !bound {
            return Ok(Vec::new());
        }
        let now = of_grid(self.project.ghyll(), self.grid.version)?
            .subject
            .to_string();
        let mut lacking = Vec::new();
        for arrow in &self.grid.arrows {
            let attestation_ref = self
                .policy
                .attestation_ref(&arrow.id, "", self.grid.version)?;
            let row = self.read(|reader| standing::newest(reader, &attestation_ref))?;
            let attested = match &row {
                Some(row) => row.rec.verdict == Verdict::Pass.as_str() && named(row)? == now,
                None => false,
            };
            if !attested {
                lacking.push(arrow.id.clone());
            }
        }
        Ok(lacking)
    }
}
