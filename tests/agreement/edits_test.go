package agreement

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/oracle/access"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/lint"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
)

// editWorlds is the number of directories of each kind that are edited.
func editWorlds() int { return max(1, gate.Times(1)/20) }

// edits is the number of edits of each directory.
func edits() int { return max(20, gate.Times(3)/max(1, gate.Times(1)/20)) }

// comparedEvery is how many revisions share one comparison of decisions: it takes
// an engine that has nothing to go by, which compiles all rules.
const comparedEvery = 10

// lintedEvery is how many good readings share one comparison of findings, which take longer than
// a translation.
const lintedEvery = 4

// Whatever is kept of a directory from one reading to the next, what comes of the
// next is what comes of it alone: diagnostics, files, revision, decisions. The edits are of
// documents and of settings.
func TestEditedDirectoryIsWhatItsFilesSay(t *testing.T) {
	t.Parallel()
	examples, _, err := source.Dir("../../examples/policies", source.DirOptions{}).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seed := firstWorld(); seed < firstWorld()+uint64(editWorlds()); seed++ {
		documents, world := access.Generate(seed)
		t.Run(fmt.Sprintf("access-%d", seed), func(t *testing.T) { editAll(t, seed, documents, world) })
		deny, world := access.GenerateDeny(seed)
		t.Run(fmt.Sprintf("deny-%d", seed), func(t *testing.T) { editAll(t, seed, deny, world) })
		files := make(map[string]string)
		for _, file := range examples.Files {
			files[file.Path] = string(file.Content.Bytes())
		}
		t.Run(fmt.Sprintf("examples-%d", seed), func(t *testing.T) { editAll(t, seed, files, world) })
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// edited is a directory under edit, read again after each.
type edited struct {
	t       *testing.T
	random  *rand.Rand
	files   map[string]string
	stated  settings.Settings // of .writ.yaml
	cluster string            // the one that the snapshot is of, "" for all
	world   *access.World
	options translator.Options

	kept   *translator.Translator
	engine *engine.Engine // of the last good revision
	good   int            // revisions
	reads  int            // readings without errors
	last   state          // the last good one
}

// state is what one reading is of.
type state struct {
	files   map[string]string
	stated  settings.Settings
	cluster string
}

func editAll(t *testing.T, seed uint64, files map[string]string, world *access.World) {
	options := translator.Options{AllowEmpty: true, Tests: true}
	e := &edited{
		t: t, random: rand.New(rand.NewPCG(seed, 4)), world: world, options: options,
		files: maps.Clone(files), kept: translator.New(options),
	}
	e.read()
	// A random directory that is hardly ever good is edited for longer.
	for i := 0; i < edits() || e.good < edits()/8 && i < 10*edits(); i++ {
		if e.random.IntN(4) == 0 {
			e.editSettings()
		} else {
			e.edit()
		}
		// What is broken stays so for a while, and is edited meanwhile.
		if !e.read() && e.random.IntN(4) > 0 {
			e.restore(files)
			e.read()
		}
	}
	if e.good < edits()/8 {
		t.Errorf("%d of %d edits left the directory good, which is too few to show anything", e.good, edits())
	}
}

// restore takes back every edit, of settings too, since the last good reading, or since
// the first.
func (e *edited) restore(first map[string]string) {
	e.files, e.stated, e.cluster = maps.Clone(first), nil, ""
	if e.random.IntN(2) == 0 {
		e.files, e.stated, e.cluster = maps.Clone(e.last.files), e.last.stated, e.last.cluster
	}
}

// read compares what comes of the directory after all before with what comes of it
// alone, and reports whether it is good.
func (e *edited) read() bool {
	e.t.Helper()
	snapshot := snapshotOfTexts(e.files)
	snapshot.Origins, snapshot.Cluster = []source.Origin{{Settings: e.stated}}, e.cluster
	got, gotList := e.kept.Translate(context.Background(), snapshot)
	want, wantList := translator.New(e.options).Translate(context.Background(), snapshot)
	if !reflect.DeepEqual(gotList, wantList) {
		e.t.Fatalf("diagnostics\ngot  %+v\nwant %+v", gotList, wantList)
	}
	if (got == nil) != (want == nil) {
		e.t.Fatalf("got a result: %v, want: %v", got != nil, want != nil)
	}
	if want == nil {
		return false
	}
	if !maps.EqualFunc(got.Files, want.Files, bytes.Equal) || !bytes.Equal(got.Data.Bytes(), want.Data.Bytes()) || got.Data.Sum() != want.Data.Sum() {
		e.t.Fatalf("got other files than the directory alone gives: %s\nwant %s", got.Data.Bytes(), want.Data.Bytes())
	}
	if !reflect.DeepEqual(got.Counts, want.Counts) {
		e.t.Fatalf("got counts %v, want %v", got.Counts, want.Counts)
	}
	if e.reads++; e.reads%lintedEvery == 1 {
		if got, want := translator.Lint(got, lint.Ends{}), translator.Lint(want, lint.Ends{}); !reflect.DeepEqual(got, want) {
			e.t.Fatalf("lint\ngot  %+v\nwant %+v", got, want)
		}
	}
	e.last = state{files: maps.Clone(e.files), stated: e.stated, cluster: e.cluster}
	e.activate(got, want)
	return true
}

// activate goes on from the engine before.
func (e *edited) activate(result, alone *translator.Result) {
	e.t.Helper()
	made := e.build(result)
	if e.engine != nil && e.engine.Loaded().Revision == made.Manifest.Revision {
		return
	}
	got := e.start(made, e.engine)
	e.engine = got
	if e.good++; e.good%comparedEvery != 0 {
		return
	}
	want := e.start(e.build(alone), nil)
	if got.Loaded().Revision != want.Loaded().Revision {
		e.t.Fatalf("got revision %s, want %s", got.Loaded().Revision, want.Loaded().Revision)
	}
	for _, asked := range e.world.Requests(200) {
		request, err := decision.Decode[decision.Request]([]byte(asked.JSON()))
		if err != nil {
			continue
		}
		got, want := got.Access(context.Background(), request), want.Access(context.Background(), request)
		if !reflect.DeepEqual(got, want) {
			e.t.Fatalf("%s\ngot  %+v\nwant %+v", asked.JSON(), got, want)
		}
	}
}

func (e *edited) build(result *translator.Result) *bundles.Bundle {
	e.t.Helper()
	made, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	return made
}

func (e *edited) start(made *bundles.Bundle, last *engine.Engine) *engine.Engine {
	e.t.Helper()
	started, err := engine.Activate(context.Background(), made, engine.Options{Last: last, Now: func() time.Time { return noon }})
	if err != nil {
		e.t.Fatal(err)
	}
	return started
}

func snapshotOfTexts(files map[string]string) source.Snapshot {
	var s source.Snapshot
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := []byte(files[name])
		s.Files = append(s.Files, source.NewFile(name, content))
	}
	return s
}

// words are put in each other's place: what documents name, and what their rules say.
var words = []string{
	"alice", "bob", "edgar", "get", "list", "update", "delete", "hammer", "anvil", "master", "pods", "secrets",
	"Editors", "edit", "view", "ClusterRole", "Role", "true", "false", "dev", "ops", "prod", "ticketed",
}

// edit makes one change.
func (e *edited) edit() {
	from, to := e.file(), e.file()
	switch e.random.IntN(12) {
	case 0, 1, 2: // a document says something else
		old, word := e.word(), e.word()
		e.files[from] = strings.Replace(e.files[from], old, word, 1+e.random.IntN(2))
	case 3, 4: // its lines move
		e.files[from] = strings.Repeat("\n", 1+e.random.IntN(3)) + e.files[from]
	case 5: // the file is moved
		moved := path.Join("moved", fmt.Sprint(e.random.IntN(100), path.Ext(from)))
		if _, taken := e.files[moved]; !taken {
			e.files[moved] = e.files[from]
			delete(e.files, from)
		}
	case 6: // and copied
		e.files["copy"+path.Ext(from)] = e.files[from]
	case 7:
		delete(e.files, from)
	case 8, 9: // a document is moved to another file
		documents := strings.Split(e.files[from], "\n---\n")
		if at := e.random.IntN(len(documents)); path.Ext(from) == path.Ext(to) && path.Ext(from) != ".json" && path.Ext(from) != ".rego" {
			e.files[from] = strings.Join(slices.Delete(slices.Clone(documents), at, at+1), "\n---\n")
			e.files[to] += "\n---\n" + documents[at]
		}
	case 10: // half of it is written
		e.files[from] = e.files[from][:len(e.files[from])/2]
	case 11:
		e.files[from] += "\n}{\n"
	}
	if len(e.files) == 0 {
		e.files["empty.yaml"] = ""
	}
}

// editSettings states another value of one setting, or none, or is of another cluster.
func (e *edited) editSettings() {
	if e.random.IntN(8) == 0 {
		e.cluster = []string{"", "prod", "dev"}[e.random.IntN(3)]
		return
	}
	values := map[settings.Key][]string{
		settings.MasterNamespace:  {"master", "dev", "ops", "hammer"},
		settings.DefaultNamespace: {"", "dev", "ops"},
		settings.BootstrapRoles:   {"", "kubernetes", "origin", "kubernetes,origin"},
		settings.ImpliedGroups:    {"", settings.Kubernetes, settings.NoGroups},

		settings.SessionGroupPrefixes: {"", "oidc:", "oidc:,x-"},
	}
	key := settings.Keys()[e.random.IntN(len(settings.Keys()))]
	if e.random.IntN(3) == 0 {
		key = settings.MasterNamespace // which decides what a binding reaches
	}
	texts := values[key]
	if texts == nil {
		texts = []string{"true", "false"}
	}
	stated := maps.Clone(e.stated)
	if stated == nil {
		stated = settings.Settings{}
	}
	delete(stated, key)
	if e.random.IntN(4) > 0 {
		stated[key] = settings.Value{Text: texts[e.random.IntN(len(texts))]}
	}
	e.stated = stated
}

func (e *edited) word() string { return words[e.random.IntN(len(words))] }

func (e *edited) file() string {
	names := slices.Sorted(maps.Keys(e.files))
	return names[e.random.IntN(len(names))]
}
