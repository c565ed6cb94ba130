package editor

import (
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// Workspace is a policy directory of which files are open in an editor. It is safe for
// concurrent use.
type Workspace struct {
	dir        string
	source     *source.Directory
	translator *translator.Translator
	kinds      *kinds

	analysing sync.Mutex // held through an analysis
	stored    source.Snapshot
	storedBy  diag.List
	isRead    bool
	words     func() *words // of the last documents without errors

	mu   sync.Mutex
	open map[string]string // texts of open files by path
	// isStale is set if stored files may have changed.
	isStale bool
}

// Open returns the workspace of a policy directory. It reads nothing yet.
func Open(dir string, o translator.Options, files source.DirOptions) *Workspace {
	return &Workspace{
		dir:        dir,
		source:     source.Dir(dir, files),
		translator: translator.New(o),
		kinds:      newKinds(),
		open:       make(map[string]string),
	}
}

// Edit sets the text of an open file, by its path in the directory.
func (w *Workspace) Edit(file, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[file] = text
}

// Close returns to the stored text of a file.
func (w *Workspace) Close(file string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, file)
	w.isStale = true
}

// Text returns the text of an open file.
func (w *Workspace) Text(file string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, ok := w.open[file]
	return text, ok
}

// Changed states that stored files may have changed.
func (w *Workspace) Changed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isStale = true
}

// Watch calls notify when stored files may have changed, until ctx ends.
func (w *Workspace) Watch(ctx context.Context, notify func()) error {
	return w.source.Watch(ctx, func() {
		w.Changed()
		notify()
	})
}

// Analyse translates the directory as it is in the editor. It returns an error if the
// directory cannot be read.
func (w *Workspace) Analyse(ctx context.Context) (*Analysis, error) {
	w.analysing.Lock()
	defer w.analysing.Unlock()
	snapshot, list, err := w.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	result, more := w.translator.Translate(ctx, snapshot)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a := newAnalysis(w.translator, snapshot)
	a.List, a.Result, a.Snapshot = slices.Concat(list, more).Sorted(), result, snapshot
	if result != nil {
		w.words = wordsOf(result.Tables)
	}
	a.words = w.words
	return a, nil
}

// snapshot returns the stored files with the texts of the open ones. A stored file that is
// left out stays so; an open file that is not stored yet is added.
func (w *Workspace) snapshot(ctx context.Context) (source.Snapshot, diag.List, error) {
	w.mu.Lock()
	isStale := w.isStale || !w.isRead
	w.isStale = false
	open := make(map[string]string, len(w.open))
	maps.Copy(open, w.open)
	w.mu.Unlock()
	if isStale {
		stored, list, err := w.source.Snapshot(ctx)
		if err != nil {
			w.Changed()
			return source.Snapshot{}, nil, err
		}
		w.stored, w.storedBy, w.isRead = stored, list, true
	}
	snapshot := w.stored
	snapshot.Files = make([]source.File, 0, len(w.stored.Files)+len(open))
	for _, f := range w.stored.Files {
		if text, ok := open[f.Path]; ok {
			f = fileOf(f.Path, text)
			delete(open, f.Path)
		}
		snapshot.Files = append(snapshot.Files, f)
	}
	for file, text := range open {
		if w.isNew(file) {
			snapshot.Files = append(snapshot.Files, fileOf(file, text))
		}
	}
	slices.SortFunc(snapshot.Files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	return snapshot, w.storedBy, nil
}

func fileOf(file, text string) source.File {
	content := []byte(text)
	return source.NewFile(file, content)
}

// isNew reports whether an open file would be read if it were stored.
func (w *Workspace) isNew(file string) bool {
	if !source.IsDocument(file) || slices.ContainsFunc(strings.Split(file, "/"), func(part string) bool { return strings.HasPrefix(part, ".") }) {
		return false
	}
	_, err := os.Stat(filepath.Join(w.dir, filepath.FromSlash(path.Clean(file))))
	return os.IsNotExist(err)
}
