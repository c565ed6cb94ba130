package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/editor"
)

// Options configure a server. All fields are required.
type Options struct {
	// Dir is the policy directory, absolute or relative to the folder that the editor has
	// open; empty for that folder.
	Dir string
	// Version is that of the program.
	Version string
	// Open returns the workspace of a policy directory, or an error for another directory.
	Open func(dir string) (*editor.Workspace, error)
	// Compile compiles what documents without errors result in, and returns the mistakes
	// that only a compiler finds.
	Compile func(context.Context, *translator.Result) (diag.List, error)
	// Verify returns the verdicts of the assertions of documents without errors.
	Verify func(context.Context, *editor.Analysis) ([]Verdict, error)
}

// ErrNoShutdown is the error of a connection that ends without the request shutdown.
var ErrNoShutdown = errors.New("the editor ended without the request shutdown")

// Serve answers one editor until it exits or ctx ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{
		o: o, ctx: ctx, wake: make(chan struct{}, 1), analysed: make(chan struct{}),
		open: make(map[string]*document), published: make(map[string]string),
		running: make(map[jsonrpc2.ID]context.CancelFunc), exited: make(chan struct{}),
		slots: make(chan struct{}, maxRunning),
	}
	connection := jsonrpc2.NewConn(ctx, stream{jsonrpc2.NewBufferedStream(pipe{in, out}, codec{})}, s,
		jsonrpc2.SetLogger(silent{}))
	defer connection.Close()
	select {
	case <-s.exited:
	case <-connection.DisconnectNotify():
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != down {
		return ErrNoShutdown
	}
	return nil
}

// silent discards what the library logs: malformed messages are answered.
type silent struct{}

func (silent) Printf(string, ...any) {}

// pipe joins the two directions. Its end is the end of the process.
type pipe struct {
	io.Reader
	io.Writer
}

func (pipe) Close() error { return nil }

// The phases of a connection.
type phase int

const (
	fresh phase = iota // before initialize
	ready
	down // after shutdown
)

type document struct {
	uri     string
	version *int
	size    int // of its text in bytes
}

type server struct {
	o         Options
	ctx       context.Context //nolint:containedctx // of the connection, for what no request asks
	workspace *editor.Workspace
	dir       string
	wake      chan struct{} // documents changed
	exited    chan struct{}
	exit      sync.Once     // closes exited
	slots     chan struct{} // has an element for each request that is being answered

	mu       sync.Mutex
	phase    phase
	open     map[string]*document // by path in the directory
	edits    int                  // that were received
	seen     int                  // that the analysis has
	analysis *editor.Analysis     // nil before the first one
	analysed chan struct{}        // closed by the next analysis
	running  map[jsonrpc2.ID]context.CancelFunc
	verdicts proven
	// canRefresh states that the editor reads the verdicts again after a notice.
	canRefresh bool

	kept      map[string]keptWarnings // by path; of the analysing goroutine
	published map[string]string       // diagnostics as JSON by path; of the analysing goroutine
}

// codeNotInitialized, codeCancelled and codeFailed are errors of the protocol.
const (
	codeNotInitialized = -32002
	codeCancelled      = -32800
	codeFailed         = -32803
)

// maxRunning bounds the requests that are answered at a time: an editor that does not read
// the answers, or asks faster than documents are analysed, must not take all memory.
const maxRunning = 256

// Handle handles a message. The connection calls it in the order of the messages.
func (s *server) Handle(ctx context.Context, c *jsonrpc2.Conn, r *jsonrpc2.Request) {
	if r.Notif {
		s.notified(c, r)
		return
	}
	s.mu.Lock()
	now := s.phase
	s.mu.Unlock()
	switch {
	case r.Method == "initialize" && now == fresh:
		result, err := s.initialize(c, r)
		s.reply(ctx, c, r, result, err)
	case now == fresh:
		s.reply(ctx, c, r, nil, &jsonrpc2.Error{Code: codeNotInitialized, Message: "the request initialize must be first"})
	case now == down || r.Method == "initialize":
		s.reply(ctx, c, r, nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "the request is not valid in this phase"})
	case r.Method == "shutdown":
		s.mu.Lock()
		s.phase = down
		s.mu.Unlock()
		s.reply(ctx, c, r, nil, nil)
	default:
		s.start(ctx, c, r)
	}
}

// start answers a request on a goroutine of its own.
func (s *server) start(ctx context.Context, c *jsonrpc2.Conn, r *jsonrpc2.Request) {
	select {
	case s.slots <- struct{}{}:
	default:
		s.reply(ctx, c, r, nil, &jsonrpc2.Error{Code: codeFailed, Message: fmt.Sprintf("%d requests are being answered already", maxRunning)})
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.running[r.ID] = cancel
	s.mu.Unlock()
	go func() {
		defer func() { <-s.slots }()
		result, err := s.recovered(ctx, r)
		if ctx.Err() != nil {
			result, err = nil, &jsonrpc2.Error{Code: codeCancelled, Message: "the request was cancelled"}
		}
		s.mu.Lock()
		delete(s.running, r.ID)
		s.mu.Unlock()
		cancel()
		s.reply(s.ctx, c, r, result, err)
	}()
}

// recovered is answer; a panic is an error, because it would end the editor's session.
func (s *server) recovered(ctx context.Context, r *jsonrpc2.Request) (result any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%s: %v", r.Method, cause)
		}
	}()
	return s.answer(ctx, r)
}

// reply writes the response. A connection that cannot be written to has ended.
func (s *server) reply(ctx context.Context, c *jsonrpc2.Conn, r *jsonrpc2.Request, result any, err error) {
	var failed *jsonrpc2.Error
	switch {
	case errors.As(err, &failed):
		_ = c.ReplyWithError(ctx, r.ID, failed)
	case err != nil:
		_ = c.ReplyWithError(ctx, r.ID, &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: err.Error()})
	default:
		_ = c.Reply(ctx, r.ID, result)
	}
}

// initialize opens the policy directory in the folder of the editor.
func (s *server) initialize(c *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
	var p initializeParams
	if err := decode(r, &p); err != nil {
		return nil, err
	}
	root := ""
	switch {
	case len(p.WorkspaceFolders) > 0:
		root = pathOf(p.WorkspaceFolders[0].URI)
	case p.RootURI != nil:
		root = pathOf(*p.RootURI)
	}
	s.dir = s.o.Dir
	if !filepath.IsAbs(s.dir) {
		s.dir = filepath.Join(root, s.dir)
	}
	if !filepath.IsAbs(s.dir) {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: "the editor has no folder open: name the policy directory as the argument of writ lsp"}
	}
	workspace, err := s.o.Open(s.dir)
	if err != nil {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
	}
	s.workspace = workspace
	s.mu.Lock()
	s.phase, s.canRefresh = ready, p.Capabilities.Workspace.CodeLens.RefreshSupport
	s.mu.Unlock()
	go s.analyse(c)
	go s.watch(c)
	s.changed()
	return capabilities(s.o.Version), nil
}

// watch observes the stored files.
func (s *server) watch(c *jsonrpc2.Conn) {
	if err := s.workspace.Watch(s.ctx, s.changed); err != nil {
		s.log(c, fmt.Sprintf("the policy directory is not watched: %v", err))
	}
}

func (s *server) log(c *jsonrpc2.Conn, text string) {
	_ = c.Notify(s.ctx, "window/logMessage", map[string]any{"type": logError, "message": "writ: " + text})
}

// decode reads the parameters of a message.
func decode(r *jsonrpc2.Request, to any) error {
	if r.Params == nil || string(*r.Params) == "null" {
		return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: "params are required"}
	}
	if err := json.Unmarshal(*r.Params, to); err != nil {
		return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: "the params do not have the types of " + r.Method}
	}
	return nil
}

// file returns the path of a document in the policy directory, empty if it is outside.
func (s *server) file(uri string) string {
	relative, err := filepath.Rel(s.dir, pathOf(uri))
	if err != nil || !filepath.IsLocal(relative) || pathOf(uri) == "" {
		return ""
	}
	return strings.TrimPrefix(filepath.ToSlash(relative), "./")
}
