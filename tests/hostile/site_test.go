package hostile

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/writ-policy/writ/analysis/assertions"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/api"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/console/answers"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/proofs"
	"github.com/writ-policy/writ/server/reload"
	"github.com/writ-policy/writ/tests/generated"
	"github.com/writ-policy/writ/tests/openapi"
	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/access"
	"github.com/writ-policy/writ/tests/oracle/gateway"
	"github.com/writ-policy/writ/tests/oracle/visibility"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// site is a server with the documents of one world.
type site struct {
	files map[string]string
	// The world, by family; two of them are nil.
	access *access.World
	views  *visibility.World
	gates  *gateway.World

	// inventory holds the subjects and resources of an Inventory.
	inventory map[string][]map[string]any

	// Requests near the documents of the world.
	accesses []oracle.Request
	seen     []visibility.Request
	passes   []*gateway.Request

	once      sync.Once
	callers   *listener
	operators *listener
	// apiServers is the listener of API servers, and frontProxy the certificate of one.
	apiServers *listener
	frontProxy *tls.ConnectionState
	proxy      *grpc.ClientConn
	policies   *engine.Engine
	explorer   *answers.Explorer
	now        time.Time // the engine's clock

	mu     sync.Mutex
	errors []string
}

var accessSites, viewSites, gateSites []*site

// The worlds are made when the package begins: an attack names those that it is about.
func init() {
	for seed := range uint64(4) {
		files, world := access.GenerateDeny(seed + 1)
		if seed == 0 {
			files, world = access.Generate(seed + 1)
		}
		s := &site{files: files, access: world}
		s.addInventory()
		accessSites = append(accessSites, s)
	}
	for seed := range uint64(3) {
		files, views := visibility.Generate(seed + 1)
		viewSites = append(viewSites, &site{files: files, views: views, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	}
	for _, seed := range []uint64{5, 7, 11, 12} { // worlds that allow some requests and deny more
		files, gates := gateway.Generate(seed)
		gateSites = append(gateSites, &site{files: files, gates: gates})
	}
	for _, a := range []*attack{accessAttack, accessBatchAttack, reviewAttack, originAttack, authzenAttack, authzenSearchAttack, dataAttack, questionAttack, verifyAttack, filterAttack, compileAttack, listAttack, objectsAttack, rulesReviewAttack, consoleAttack, reachAttack, namespaceAttack, apiAttack} {
		a.worlds = accessSites
	}
	for _, a := range []*attack{visibilityAttack, visibilityBatchAttack, dashboardAttack} {
		a.worlds = viewSites
	}
	for _, a := range []*attack{gatewayAttack, gatewayBatchAttack, effectiveAttack} {
		a.worlds = gateSites
	}
	operationsAttack.worlds, operatorAttack.worlds = accessSites[:1], accessSites[:1]
}

// caller is whom a token stands for.
type caller struct {
	name   string
	groups []string
}

// callers are the callers by their tokens.
var callers = map[string]*caller{
	"t-alice":    {"alice", []string{"dev"}},
	"t-bob":      {"bob", nil},
	"t-dev":      {"dev", []string{"ops", "dev"}},
	"t-bot":      {"system:serviceaccount:hammer:bot", []string{"system:authenticated"}},
	"t-auditor":  {"vera", []string{"auditors"}},
	"t-operator": {"olga", []string{"operators"}},
}

const tokenFile = `t-alice,alice,1,dev
t-bob,bob,2
t-dev,dev,3,"ops,dev"
t-bot,system:serviceaccount:hammer:bot,4,system:authenticated
t-auditor,vera,5,auditors
t-operator,olga,6,operators
`

// open activates the documents and makes the listeners, once.
func (s *site) open(t testing.TB) {
	s.once.Do(func() {
		result, list := translator.New(translator.Options{AllowEmpty: true}).Translate(context.Background(), s.snapshot())
		if result == nil {
			t.Fatal(list)
		}
		bundle, err := bundles.Build(result, bundles.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := generated.CheckFormat(bundle.Files); err != nil {
			t.Error(err)
		}
		options := engine.Options{}
		if !s.now.IsZero() {
			options.Now = func() time.Time { return s.now }
		}
		if s.policies, err = engine.Activate(context.Background(), bundle, options); err != nil {
			t.Fatal(err)
		}
		s.explore(bundle)
		s.listen(t)
	})
}

// explore makes what answers the console. Its event streams end at once.
func (s *site) explore(b *bundles.Bundle) {
	s.explorer = answers.New(answers.Options{Current: func() decision.Policies { return s.policies }, Try: try, Log: 100})
	s.explorer.Activate(b)
	s.explorer.Attempted(answers.Attempt{Files: s.snapshot().Files, Revision: s.policies.Loaded().Revision, Activated: true})
	s.explorer.Close()
}

// try activates documents that are not served.
func try(ctx context.Context, snapshot source.Snapshot) (answers.Trial, error) {
	result, list := translator.New(translator.Options{AllowEmpty: true}).Translate(ctx, snapshot)
	if result == nil {
		return answers.Trial{Diagnostics: list}, nil
	}
	made, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		return answers.Trial{}, err
	}
	policies, err := engine.Activate(ctx, made, engine.Options{})
	return answers.Trial{Policies: policies, Diagnostics: list}, err
}

func (s *site) snapshot() (all source.Snapshot) {
	for path, content := range s.files {
		all.Files = append(all.Files, source.NewFile(path, []byte(content)))
	}
	slices.SortFunc(all.Files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	return all
}

func (s *site) listen(t testing.TB) {
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(tokenFile), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := auth.ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	rule := auth.Rule{Authenticator: tokens, Loopback: true, Auditors: []string{"auditors"}, Operators: []string{"operators"}}
	measured := metrics.New()
	kept := cache.New(cache.Options{Entries: 1000, Now: func() time.Time { return s.now }}, measured)
	policies := kept.Of(s.policies)
	logger := s.logger()
	s.listenForProxies(t, measured)
	s.callers = listening(t, "t-auditor", api.New(api.Options{
		Current: func() decision.Policies { return policies }, Metrics: measured, Cache: kept, Rule: rule, Logger: logger,
		Status: func(details bool) any { return statusForm{details} }, StatusForm: statusForm{},
		Values: limits.NewBudget(1 << 20), Console: s.explorer, Observer: s.explorer,
		Proofs: s.proofs(t),
		Poke:   func() {}, PokeSecret: func() []byte { return []byte(pokeSecret) },
	}))
	s.listenForAPIServers(t, logger)
	s.operators = listening(t, "t-operator", api.NewAdmin(api.AdminOptions{RevisionStore: store{}, Metrics: metrics.New(), Rule: rule, Logger: logger}))
}

// proofs verify assertions about the documents.
func (s *site) proofs(t testing.TB) *proofs.Proofs {
	p, err := proofs.New(proofs.Options{Compiler: func(func() time.Time) *assertions.Compiler { return new(assertions.Compiler) }})
	if err == nil {
		err = p.Accept(context.Background(), &reload.Candidate{Bundle: new(bundles.Bundle), Policies: s.policies, Snapshot: s.snapshot()})
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// statusForm is the status of the server.
type statusForm struct {
	Details bool `json:"details"`
}

// listener is the handler of a listener, with its OpenAPI document.
type listener struct {
	http.Handler
	document *openapi.Document
}

// documents are those of the listeners, by who reads them. All sites have the same.
var documents = map[string]*openapi.Document{}

func listening(t testing.TB, token string, h http.Handler) *listener {
	if documents[token] == nil {
		document, err := openapi.Read(h, "Bearer "+token)
		if err != nil {
			t.Fatal(err)
		}
		documents[token] = document
	}
	return &listener{h, documents[token]}
}

// takeErrors returns what the server has logged as an error, and forgets it.
func (s *site) takeErrors() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.Join(s.errors, "\n")
	s.errors = nil
	return text
}

func (s *site) logger() *slog.Logger { return slog.New(&errorLog{site: s}) }

// errorLog keeps records of level error, such as panics.
type errorLog struct{ site *site }

func (l *errorLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }
func (l *errorLog) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *errorLog) WithGroup(string) slog.Handler                    { return l }

func (l *errorLog) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	l.site.mu.Lock()
	defer l.site.mu.Unlock()
	l.site.errors = append(l.site.errors, text)
	return nil
}
