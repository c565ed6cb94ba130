package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/translator/diag"
)

const rollbackHelp = `rollback makes a running server serve a revision that it has kept. The server
stays at that revision, even if documents change and after restarts, until
--release. With --git-allowed-keys the server reads only commits that descend
from the last active one. --accept COMMIT lets it read that commit and its
descendants, after a branch was reset or rewritten. --list shows the revisions
that are kept. A unique prefix of a revision is enough.

It calls the administrative endpoints of the server (writ serve --admin-listen),
at URL or --server, with a token from --token-file or WRIT_ADMIN_TOKEN.

Exit status 0: success; 1: the server does not have the revision or cannot
activate it; 2: wrong usage, or the server cannot be reached.`

const rollbackExamples = `  writ rollback --list
  writ rollback 5f2a9c
  writ rollback --release
  writ rollback --accept 1f0c6a1d1b8f4f1f3a0b1b5f5c2d7e9a4b3c2d1e
  writ rollback https://writ.example.com:8687 --token-file token --list -o json`

type rollbackOptions struct {
	server    string
	tokenFile string
	format    string
	list      bool
	release   bool
	accept    string
}

// adminTokenVariable is the environment variable of the token. It is not a
// flag, because every user of the machine can read the arguments of a process.
const adminTokenVariable = cli.EnvironmentPrefix + "ADMIN_TOKEN"

// NewRollback returns the command rollback.
func NewRollback(s cli.Streams) *cobra.Command {
	var o rollbackOptions
	cmd := &cobra.Command{
		Use:     "rollback [URL] (REVISION | --list | --release | --accept COMMIT)",
		Short:   "Make a server go back to an earlier revision",
		Long:    rollbackHelp,
		Example: rollbackExamples,
		Args:    cli.Arguments(0, 2, "give one server and one revision at most"),
		RunE:    func(cmd *cobra.Command, args []string) error { return rollback(cmd, s, o, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.server, "server", "http://127.0.0.1:8687", "`URL` of the administrative endpoints")
	f.StringVar(&o.tokenFile, "token-file", "", "`file` with the token; default: "+adminTokenVariable)
	f.BoolVar(&o.list, "list", false, "show the revisions that are kept")
	f.BoolVar(&o.release, "release", false, "serve the newest documents again")
	f.StringVar(&o.accept, "accept", "", "read the `COMMIT` and its descendants")
	cli.FormatFlag(cmd, &o.format, "text", "json")
	cli.MarkCommandLineOnly(cmd, "list", "release", "accept")
	return cmd
}

func rollback(cmd *cobra.Command, s cli.Streams, o rollbackOptions, args []string) error {
	if len(args) > 0 && strings.Contains(args[0], "://") {
		if f := cmd.Flags().Lookup("server"); f.Changed && cli.SetBy(f) == "--server" {
			return cli.Usagef(cmd, "the server is named twice: by --server and as an argument")
		}
		o.server, args = args[0], args[1:]
	}
	asked := len(args)
	for _, is := range []bool{o.list, o.release, o.accept != ""} {
		if is {
			asked++
		}
	}
	if asked != 1 {
		return cli.Usagef(cmd, "give a revision, --list, --release or --accept")
	}
	client, err := o.newAdminClient()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), adminTimeout)
	defer cancel()
	switch {
	case o.list:
		return client.list(ctx, s, o.format)
	case o.release:
		return client.post(ctx, s, "/v1/release", nil, "released: the newest revision is served again")
	case o.accept != "":
		return client.post(ctx, s, "/v1/accept", map[string]string{"commit": o.accept}, "commit "+diag.Line(o.accept)+" is accepted")
	}
	revision, err := client.find(ctx, args[0])
	if err != nil {
		return err
	}
	return client.post(ctx, s, "/v1/rollback", map[string]string{"revision": revision}, "revision "+revision+" is served and pinned")
}

// adminTimeout bounds a request; the server reads and compiles a revision for it.
const adminTimeout = 4 * time.Minute

// adminClient calls the administrative endpoints of a server.
type adminClient struct {
	*client
	server string
}

// newAdminClient returns an error without a token, or if the server is not a URL.
func (o *rollbackOptions) newAdminClient() (*adminClient, error) {
	if err := checkServer(o.server); err != nil {
		return nil, fmt.Errorf("the server: %w", err)
	}
	token := strings.TrimSpace(os.Getenv(adminTokenVariable))
	if o.tokenFile == "" && token == "" {
		return nil, errors.New("a token is required: use --token-file or " + adminTokenVariable)
	}
	c, err := newClient(connection{Token: token, TokenFile: o.tokenFile})
	return &adminClient{c, o.server}, err
}

// keptRevision is a revision in the response of GET /v1/revisions.
type keptRevision struct {
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
	Commit   string    `json:"commit,omitempty"`
	Sequence int64     `json:"sequence,omitempty"`
	Active   bool      `json:"active,omitempty"`
	Pinned   bool      `json:"pinned,omitempty"`
}

// ask sends a request and decodes the response. It returns a finding if the server
// does not have the revision or cannot activate it, and another error if the server
// cannot be reached or rejects the request.
func (d *adminClient) ask(ctx context.Context, method, path string, body any, answer any) error {
	response, text, err := d.send(ctx, method, d.server, path, body)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	if response.StatusCode == http.StatusOK {
		return json.Unmarshal(text, answer)
	}
	var problem struct {
		Detail string `json:"detail"`
	}
	if json.Unmarshal(text, &problem) != nil || problem.Detail == "" {
		problem.Detail = response.Status
	}
	switch {
	case response.StatusCode == http.StatusUnauthorized:
		return errors.New("the server rejected the token")
	case response.StatusCode == http.StatusNotFound && method == http.MethodGet:
		return errors.New("no administrative endpoints at " + d.server + ": the URL must be the address of writ serve --admin-listen")
	}
	if response.StatusCode == http.StatusNotFound || response.StatusCode == http.StatusInternalServerError {
		return cli.Findingf("the server: %s", diag.Line(problem.Detail))
	}
	return fmt.Errorf("the server: %s", diag.Line(problem.Detail))
}

func (d *adminClient) revisions(ctx context.Context) ([]keptRevision, error) {
	var answer struct {
		Revisions []keptRevision `json:"revisions"`
	}
	err := d.ask(ctx, http.MethodGet, "/v1/revisions", nil, &answer)
	return answer.Revisions, err
}

func (d *adminClient) list(ctx context.Context, s cli.Streams, format string) error {
	kept, err := d.revisions(ctx)
	if err != nil {
		return err
	}
	if format == "json" {
		return diag.WriteIndented(s.Out, map[string]any{"revisions": kept})
	}
	var rows [][]string
	for _, k := range kept {
		var notes []string
		if k.Active {
			notes = append(notes, "active")
		}
		if k.Pinned {
			notes = append(notes, "pinned")
		}
		if k.Sequence > 0 {
			notes = append(notes, fmt.Sprintf("sequence %d", k.Sequence))
		}
		if k.Commit != "" {
			notes = append(notes, "commit "+k.Commit)
		}
		rows = append(rows, []string{k.Revision, k.Since.UTC().Format(time.RFC3339), strings.Join(notes, ", ")})
	}
	return cli.PrintTable(s.Out, rows)
}

// find returns the revision with this prefix. It returns a finding if none
// or more than one has it.
func (d *adminClient) find(ctx context.Context, begin string) (string, error) {
	kept, err := d.revisions(ctx)
	if err != nil {
		return "", err
	}
	found := ""
	for _, k := range kept {
		if !strings.HasPrefix(k.Revision, begin) {
			continue
		}
		if found != "" {
			return "", cli.Findingf("%q is ambiguous: several revisions begin with it; writ rollback --list shows them", begin)
		}
		found = k.Revision
	}
	if found == "" {
		return "", cli.Findingf("no revision begins with %q; writ rollback --list shows all revisions", begin)
	}
	return found, nil
}

// post sends a change and prints done if it succeeds.
func (d *adminClient) post(ctx context.Context, s cli.Streams, path string, body any, done string) error {
	var answer map[string]any
	if err := d.ask(ctx, http.MethodPost, path, body, &answer); err != nil {
		return err
	}
	fmt.Fprintln(s.Err, done)
	return nil
}
