package answers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
)

// Propose implements console.Viewer.
func (v *viewer) Propose(ctx context.Context, c console.Caller, p *console.Proposal) (*console.Diff, error) {
	switch {
	case !c.SeesAll:
		return nil, console.ErrForbidden
	case v.x.o.Try == nil:
		return nil, console.Errorf(console.NotReady, "this server does not compare documents that it does not serve")
	case v.policies.Loaded().Revision == "":
		return nil, console.Errorf(console.NotReady, "no revision is active")
	}
	read, list, err := v.baseOf(ctx, p)
	if err != nil {
		return nil, err
	}
	snapshot, err := proposed(read, p)
	if err != nil {
		return nil, err
	}
	trial, err := v.x.o.Try(ctx, snapshot)
	trial.Diagnostics = slices.Concat(list, trial.Diagnostics)
	switch {
	case ctx.Err() != nil:
		return nil, console.Errorf(console.Busy, "the comparison took too long")
	case trial.Diagnostics.HasErrors():
		errors, _ := trial.Diagnostics.Count()
		found := trial.Diagnostics[:min(len(trial.Diagnostics), maxDiagnostics)]
		files := new(shown).files(snapshot.Files, trial.Documents, trial.Diagnostics)
		return nil, &console.Error{
			Reason: console.Mistaken, Message: "the documents have " + diag.Counted(errors, "error") + ": nothing is compared",
			Diagnostics: shownDiagnostics(found, files),
		}
	case err != nil:
		return nil, console.Errorf(console.Internal, "the documents cannot be tried: %v", err)
	}
	return v.x.diffOf(ctx, [2]compared{
		{v.policies, v.revision.texts.all(), v.revision.id[:12]},
		{trial.Policies, new(shown).files(snapshot.Files, trial.Documents, trial.Diagnostics), cmp.Or(p.Ref, "proposal")},
	})
}

// baseOf returns the documents that a proposal changes: those that are served, those of a
// reference, or none. The list has what of the reference cannot be read.
func (v *viewer) baseOf(ctx context.Context, p *console.Proposal) (*source.Snapshot, diag.List, error) {
	v.x.mu.Lock()
	read, isRead := v.revision.read, v.revision.isRead
	v.x.mu.Unlock()
	switch {
	case p.Ref != "" && p.Whole:
		return nil, nil, unfit("whole", "must be false with a ref, which has the other documents")
	case p.Ref != "":
		return v.reference(ctx, read, p)
	case p.Source != "":
		return nil, nil, unfit("source", "is only for a ref")
	case read != nil:
		return read, nil, nil
	case !p.Whole && !isRead:
		return nil, nil, console.Errorf(console.NotReady, "the revision has just become active")
	case !p.Whole:
		return nil, nil, &console.Error{Reason: console.Invalid, Field: "whole", Message: "the texts of the served documents are not known here, as they are not for a bundle or after a rollback: send all documents, with \"whole\": true"}
	}
	return new(source.Snapshot), nil, nil
}

// reference returns what is served with the documents of one source replaced by those of a
// reference. One reference is read at a time.
func (v *viewer) reference(ctx context.Context, read *source.Snapshot, p *console.Proposal) (*source.Snapshot, diag.List, error) {
	var found *console.Repository
	all := v.x.o.Repositories()
	names := make([]string, len(all))
	for i := range all {
		if names[i] = all[i].Source; names[i] == p.Source || p.Source == "" && len(all) == 1 {
			found = &all[i]
		}
	}
	switch {
	case len(all) == 0:
		return nil, nil, unfit("ref", "the documents that are served are not in a git repository")
	case found == nil:
		return nil, nil, unfit("source", "must be one of "+strings.Join(names, ", "))
	case read == nil && found.Source != "":
		return nil, nil, unfit("ref", "the documents of the other sources are not known here, as they are not after a rollback")
	case !v.x.reading.TryLock():
		return nil, nil, console.Errorf(console.Busy, "another git reference is being read; try again")
	}
	defer v.x.reading.Unlock()
	then, list, err := v.x.o.ReadReference(ctx, found.Location, p.Ref)
	if err != nil || read == nil {
		return &then, list, err
	}
	at := slices.IndexFunc(read.Origins, func(o source.Origin) bool { return o.Name == found.Source })
	if at < 0 {
		return nil, nil, console.Errorf(console.Internal, "the source of the reference is not served")
	}
	out := *read
	out.Files = slices.DeleteFunc(slices.Clone(read.Files), func(f source.File) bool { return f.Origin == at })
	for _, f := range then.Files {
		f.Origin = at
		out.Files = append(out.Files, f)
	}
	out.Origins = slices.Clone(read.Origins)
	out.Origins[at] = then.Origins[0]
	return &out, list, nil
}

// proposed returns a snapshot after a change.
func proposed(read *source.Snapshot, p *console.Proposal) (source.Snapshot, error) {
	files := make(map[string]source.File)
	if !p.Whole {
		for _, f := range read.Files {
			files[f.Path] = f
		}
	}
	for i, name := range p.Removed {
		if _, ok := files[name]; !ok {
			return source.Snapshot{}, unfit(fmt.Sprintf("removed[%d]", i), fmt.Sprintf("file %q is not served", name))
		}
		delete(files, name)
	}
	seen := make(map[string]bool)
	for i, d := range p.Documents {
		field := fmt.Sprintf("documents[%d].path", i)
		switch {
		case !fs.ValidPath(d.Path) || !source.IsPrintable(d.Path):
			return source.Snapshot{}, unfit(field, "must be a relative path with slashes, such as \"team/roles.yaml\"")
		case path.Base(d.Path) == settings.Path:
			return source.Snapshot{}, unfit(field, settings.Path+" is not a document: its settings are those of the server")
		case !source.IsDocument(d.Path):
			return source.Snapshot{}, unfit(field, "must end in .yaml, .yml, .json or .rego")
		case seen[d.Path]:
			return source.Snapshot{}, unfit(field, fmt.Sprintf("file %q is listed twice", d.Path))
		}
		seen[d.Path] = true
		files[d.Path] = source.File{Path: d.Path, Content: source.TextOf([]byte(d.Content)), Hash: sha256.Sum256([]byte(d.Content)), Origin: originOf(read.Origins, d.Path)}
	}
	out := *read
	out.Files = make([]source.File, 0, len(files))
	for _, f := range files {
		out.Files = append(out.Files, f)
	}
	slices.SortFunc(out.Files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// originOf returns the source of a file: that whose name begins its path, or the only one.
func originOf(origins []source.Origin, name string) int {
	at := slices.IndexFunc(origins, func(o source.Origin) bool { return o.Name != "" && strings.HasPrefix(name, o.Name+"/") })
	return max(at, 0)
}

// unfit refuses a part of a proposal.
func unfit(field, message string) *console.Error {
	return &console.Error{Reason: console.Invalid, Field: field, Message: field + ": " + message}
}
