package agreement

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/generated"
	"github.com/writ-policy/writ/tests/process"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/decisiontest"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/source"
)

// processEvery is of how many suites the command opa runs the bundle of one: a process for each
// would take most of the time of this package.
func processEvery() int { return max(1, 200/gate.Effort()) }

// byOPAEvery is of how many suites the embedded engine has OPA evaluate the Rego of one: in the
// gate, a stock OPA and the compiled forms decide the cases of each suite without that.
func byOPAEvery() int { return max(1, 9/gate.Effort()) }

// A stock OPA runs the built bundle of every suite and every example: its generated tests
// pass, and it decides each case as the embedded engine does. In the gate the packages of OPA
// run all bundles, and the command runs that of the examples and of some of the suites.
func TestStockOPARunsTheBundle(t *testing.T) {
	suites, err := filepath.Glob("../conformance/*/*/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(suites) < 50 {
		t.Errorf("found %d suites, which cannot be all", len(suites))
	}
	for i, cases := range gate.Some(suites, 8) {
		dir := filepath.Dir(cases)
		family := filepath.Base(filepath.Dir(dir))
		t.Run(family+"/"+filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			point, ask := "access", embeddedDecision
			switch family {
			case "visibility":
				point, ask = "visibility", embeddedView
			case "inheritance":
				point, ask = "gateway", embeddedGuard
			}
			isOneOf := func(every int) bool { return (uint64(i)+firstWorld())%uint64(every) == 0 }
			c := newComparison(t, filepath.Join(dir, "policies"), isOneOf(processEvery()), point)
			c.isByOPA = isOneOf(byOPAEvery())
			c.test(t)
			c.compareAt(t, point, readTimed(t, cases), ask)
		})
	}
	t.Run("the defaults of Kubernetes", func(t *testing.T) {
		t.Parallel()
		newComparison(t, filepath.Join("..", "kubernetes", "testdata", "default"), false).test(t)
	})
	t.Run("examples", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join("..", "..", "examples", "policies")
		c := newComparison(t, dir, true)
		c.test(t)
		own := ownRequests(t, dir)
		c.compareAt(t, "access", timed(own["access"]), embeddedDecision)
		c.compareAt(t, "visibility", timed(own["visibility"]), embeddedView)
		c.compareAt(t, "gateway", timed(own["gateway"]), embeddedGuard)
	})
}

// comparison is a built bundle, and a stock OPA that runs it.
type comparison struct {
	bundle *bundles.Bundle
	points []string // at which requests are compared
	stock  *stock
	path   string // of the tarball, for the command opa; empty if that does not run
	// isByOPA is whether the embedded engine has OPA evaluate the Rego of the bundle as well.
	isByOPA bool
}

func newComparison(t *testing.T, dir string, isProcess bool, points ...string) *comparison {
	t.Helper()
	bundle, path := buildDirectory(t, dir)
	if !isProcess {
		path = ""
	}
	stock := newStock(t, bundle, allTests, points...)
	if len(points) == 0 {
		points = engine.PointsByOPA(engine.DecideByOPA)
	}
	return &comparison{bundle: bundle, points: points, stock: stock, path: path, isByOPA: true}
}

// test runs the generated tests.
func (c *comparison) test(t *testing.T) {
	t.Helper()
	if failed := c.stock.test(t); len(failed) > 0 {
		t.Fatalf("generated tests fail: %q", failed)
	}
	if c.path != "" {
		testBundle(t, c.path)
	}
}

// decide returns the list that a query makes of an input. Built-in errors are errors,
// except at the gateway: Rego of gateway policies means what it does to an OPA without
// options, where a built-in that fails is undefined.
func (c *comparison) decide(t *testing.T, input []byte, query string) []map[string]any {
	t.Helper()
	isStrict := !strings.Contains(query, "data.writ.gateway.")
	prepared := c.stock.prepare(t, query, rego.StrictBuiltinErrors(isStrict))
	result, err := prepared.Eval(context.Background(), rego.EvalInput(tree(t, input)))
	if err != nil || len(result) != 1 {
		t.Fatalf("%v, %v", result, err)
	}
	var decided []map[string]any
	if err := json.Unmarshal([]byte(written(t, result[0].Expressions[0].Value)), &decided); err != nil {
		t.Fatal(err)
	}
	if c.path == "" {
		return decided
	}
	if got := stockEval(t, c.path, input, query, isStrict); !reflect.DeepEqual(got, decided) {
		t.Fatalf("the command decides %v\nand the package %v", got, decided)
	}
	return decided
}

func readInputs(t *testing.T, path string) []json.RawMessage {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var inputs []json.RawMessage
	for line := range strings.Lines(string(content)) {
		var row struct{ Input json.RawMessage }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		inputs = append(inputs, row.Input)
	}
	return inputs
}

// ownRequests are the requests of the DecisionTests of a directory, by point.
func ownRequests(t *testing.T, dir string) map[string][]json.RawMessage {
	t.Helper()
	requests := make(map[string][]json.RawMessage)
	for _, test := range directory.DocumentsOf[*decisiontest.DecisionTest](translate(t, dir).Directory) {
		for _, row := range test.Cases {
			requests[test.Point] = append(requests[test.Point], row.Request)
		}
	}
	if len(requests) == 0 {
		t.Fatalf("%s has no DecisionTests", dir)
	}
	return requests
}

func translate(t *testing.T, dir string) *translator.Result {
	t.Helper()
	snapshot, list, err := source.Dir(dir, source.DirOptions{}).Snapshot(context.Background())
	if err != nil || list.HasErrors() {
		t.Fatalf("%s: %v %v", dir, err, list)
	}
	result, list := translator.New(translator.Options{Tests: true}).Translate(context.Background(), snapshot)
	if result == nil {
		t.Fatalf("%s: %+v", dir, list)
	}
	return result
}

// buildDirectory builds the bundle and writes it as a tarball.
func buildDirectory(t *testing.T, dir string) (*bundles.Bundle, string) {
	t.Helper()
	bundle, err := bundles.Build(translate(t, dir), bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := generated.CheckFormat(bundle.Files); err != nil {
		t.Errorf("%s: %v", dir, err)
	}
	var tar bytes.Buffer
	if err := bundle.WriteTar(&tar); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bundle.tar.gz")
	if err := os.WriteFile(path, tar.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return bundle, path
}

func testBundle(t *testing.T, path string) {
	t.Helper()
	if out, err := exec.Command(process.OPA(t), "test", "--timeout", "2m", "--bundle", path).CombinedOutput(); err != nil {
		t.Fatalf("opa test: %v\n%s", err, out)
	} else if !bytes.Contains(out, []byte("PASS")) {
		t.Fatalf("opa test ran nothing:\n%s", out)
	}
}

// stockEval is the list that a query makes of an input by the command opa.
func stockEval(t *testing.T, path string, input []byte, query string, isStrict bool) []map[string]any {
	t.Helper()
	arguments := []string{"eval", "--bundle", path, "--stdin-input", "--format", "raw"}
	if isStrict {
		arguments = append(arguments, "--strict-builtin-errors")
	}
	command := exec.Command(process.OPA(t), append(arguments, query)...)
	command.Stdin = bytes.NewReader(input)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("opa eval: %v\n%s", err, out)
	}
	var decided []map[string]any
	if err := json.Unmarshal(out, &decided); err != nil {
		t.Fatalf("opa eval printed no list: %v\n%s", err, out)
	}
	return decided
}

// embeddedDecision is the embedded engine's decision as JSON values.
func embeddedDecision(t *testing.T, e *engine.Engine, input []byte) map[string]any {
	t.Helper()
	request, err := decision.Decode[decision.Request](input)
	if err != nil {
		return refusalOf(err)
	}
	text, err := json.Marshal(e.Access(context.Background(), request))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// refusalOf is the answer to an invalid request. Endpoints add the line and the near key of
// an unknown one, which a stock OPA cannot.
func refusalOf(err error) map[string]any {
	refused := decision.AsInvalidRequest(err)
	return map[string]any{"error": map[string]any{"code": refused.Code, "message": refused.Message}}
}

// timedInput is a request, and what time it is.
type timedInput struct {
	Input json.RawMessage `json:"input"`
	Now   time.Time       `json:"now"`
}

// defaultTime is that of a request that says nothing of it.
var defaultTime = time.Unix(1_800_000_000, 0)

// readTimed reads the cases that are requests.
func readTimed(t *testing.T, path string) []timedInput {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rows []timedInput
	for line := range strings.Lines(string(content)) {
		row := timedInput{Now: defaultTime}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if row.Input != nil {
			rows = append(rows, row)
		}
	}
	return rows
}

func timed(inputs []json.RawMessage) []timedInput {
	rows := make([]timedInput, len(inputs))
	for i, input := range inputs {
		rows[i] = timedInput{input, defaultTime}
	}
	return rows
}

// compareAt has OPA decide all requests at a point, each as its input at its time, and
// compares with the embedded engine.
func (c *comparison) compareAt(t *testing.T, point string, rows []timedInput, ask func(*testing.T, *engine.Engine, []byte) map[string]any) {
	t.Helper()
	if len(rows) == 0 {
		return // a suite of effective policies alone
	}
	decided := c.answers(t, point, rows)
	var now time.Time
	byOPA := [][]string{nil, c.points}
	if !c.isByOPA {
		byOPA = byOPA[:1]
	}
	for _, embedded := range enginesOf(t, c.bundle, byOPA, engine.Options{Now: func() time.Time { return now }}) {
		for i, row := range rows {
			now = row.Now
			if want := ask(t, embedded, row.Input); !reflect.DeepEqual(decided[i], want) {
				t.Errorf("by OPA: %q: %s\nOPA    %v\nengine %v", embedded.Loaded().ByOPA, row.Input, decided[i], want)
			}
		}
	}
}

// answers are OPA's decisions on requests at a point, each at its time.
func (c *comparison) answers(t *testing.T, point string, rows []timedInput) []map[string]any {
	t.Helper()
	asked := make([][2]any, len(rows))
	for i, row := range rows {
		asked[i] = [2]any{row.Input, row.Now.UnixNano()}
	}
	text, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	decided := c.decide(t, text, `[decision | some [request, now] in input
		decision := data.writ.`+point+`.decision with input as request with time.now_ns as now]`)
	if len(decided) != len(rows) {
		t.Fatalf("got %d decisions for %d requests", len(decided), len(rows))
	}
	return decided
}

// bothWays are two engines of a bundle: one decides by compiled forms of its Rego at all
// points, the other has OPA evaluate it at some.
func bothWays(t *testing.T, bundle *bundles.Bundle, points []string, o engine.Options) [2]*engine.Engine {
	t.Helper()
	return [2]*engine.Engine(enginesOf(t, bundle, [][]string{nil, points}, o))
}

// enginesOf are engines of a bundle, each with the points at which it has OPA evaluate the Rego.
func enginesOf(t *testing.T, bundle *bundles.Bundle, points [][]string, o engine.Options) []*engine.Engine {
	t.Helper()
	bundle = readAgain(t, bundle)
	o.Timeout = time.Minute // compilations of the tests beside wait for each other
	engines := make([]*engine.Engine, len(points))
	for i, byOPA := range points {
		o.ByOPA = byOPA
		var err error
		if engines[i], err = engine.Activate(context.Background(), bundle, o); err != nil {
			t.Fatal(err)
		}
		o.Last = engines[i] // the modules are the same
		if got := slices.Sorted(maps.Keys(engines[i].Loaded().ByOPA)); !slices.Equal(got, byOPA) {
			t.Fatalf("by OPA: got %q, want %q", got, byOPA)
		}
	}
	return engines
}

// embeddedView is embeddedDecision at the visibility point.
func embeddedView(t *testing.T, e *engine.Engine, input []byte) map[string]any {
	t.Helper()
	request, err := decodeVisibility(input)
	if err != nil {
		return refusalOf(err)
	}
	d := decision.DecideVisibility(context.Background(), e, request, e.Visibility(context.Background(), request))
	return valuesOf(t, d.AppendJSON(nil))
}

// embeddedGuard is embeddedDecision at the gateway point.
func embeddedGuard(t *testing.T, e *engine.Engine, input []byte) map[string]any {
	t.Helper()
	request, err := decision.DecodeGateway(input)
	if err != nil {
		return refusalOf(err)
	}
	d, refused := e.Gateway(context.Background(), request)
	if refused != nil {
		return refusalOf(refused)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return valuesOf(t, text)
}

func valuesOf(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}
