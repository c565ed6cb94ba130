package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

const rollbackHelp = `rollback makes a running server serve a revision that it has kept, and stay with it
whatever the documents say, over restarts too, until --release. --list shows which
revisions there are. A revision may be shortened as long as it is one.

It asks the operators' doors of the server (writ serve --admin-listen), with a token
from --token-file or WRIT_ADMIN_TOKEN.

Exit status 0: done; 1: the server has no such revision, or it does not work any more;
2: wrong usage, or the server cannot be asked.`

const rollbackExamples = `  writ rollback --list
  writ rollback 5f2a9c
  writ rollback --release
  writ rollback --server https://writ.example.com:8687 --token-file token --list -o json`

type rollbackOptions struct {
	server    string
	tokenFile string
	format    string
	list      bool
	release   bool
}

// adminTokenVariable is the environment's token. It is not a flag: the arguments of a
// process are everybody's to read.
const adminTokenVariable = environmentPrefix + "ADMIN_TOKEN"

func newRollback(s streams) *cobra.Command {
	var o rollbackOptions
	cmd := &cobra.Command{
		Use:     "rollback (REVISION | --list | --release)",
		Short:   "Make a server go back to an earlier revision",
		Long:    rollbackHelp,
		Example: rollbackExamples,
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return rollback(cmd, s, o, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.server, "server", "http://127.0.0.1:8687", "`URL` of the operators' doors")
	f.StringVar(&o.tokenFile, "token-file", "", "`file` with the token; default: "+adminTokenVariable)
	f.BoolVar(&o.list, "list", false, "show the revisions that are kept")
	f.BoolVar(&o.release, "release", false, "serve the newest documents again")
	formatFlag(cmd, &o.format, "text", "json")
	onlyHere(cmd, "list", "release")
	return cmd
}

func rollback(cmd *cobra.Command, s streams, o rollbackOptions, args []string) error {
	asked := len(args)
	for _, is := range []bool{o.list, o.release} {
		if is {
			asked++
		}
	}
	if asked != 1 {
		return usagef(cmd, "give a revision, --list or --release")
	}
	doors, err := o.doors()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), adminPatience)
	defer cancel()
	switch {
	case o.list:
		return doors.list(ctx, s, o.format)
	case o.release:
		return doors.change(ctx, s, "/v1/release", nil, "released: the newest is served again")
	}
	revision, err := doors.find(ctx, args[0])
	if err != nil {
		return err
	}
	return doors.change(ctx, s, "/v1/rollback", map[string]string{"revision": revision}, "revision "+revision+" is served and pinned")
}

// adminPatience bounds the wait for a server that reads and compiles a revision.
const adminPatience = 4 * time.Minute

// adminDoors are the operators' doors of a server.
type adminDoors struct{ server, token string }

func (o *rollbackOptions) doors() (*adminDoors, error) {
	token := os.Getenv(adminTokenVariable)
	if o.tokenFile != "" {
		content, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("read the token: %w", err)
		}
		token = string(content)
	}
	if token = strings.TrimSpace(token); token == "" {
		return nil, errors.New("a token is needed: give --token-file or " + adminTokenVariable)
	}
	return &adminDoors{strings.TrimSuffix(o.server, "/"), token}, nil
}

// keptRevision is a revision as the doors list it.
type keptRevision struct {
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
	Commit   string    `json:"commit,omitempty"`
	Sequence int64     `json:"sequence,omitempty"`
	Active   bool      `json:"active,omitempty"`
	Pinned   bool      `json:"pinned,omitempty"`
}

// ask sends a request and reads the answer, which is JSON in any case.
func (d *adminDoors) ask(ctx context.Context, method, path string, body any, answer any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	if u, err := url.Parse(d.server); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--server: %q is no URL such as http://127.0.0.1:8687", d.server)
	}
	request, err := http.NewRequestWithContext(ctx, method, d.server+path, content)
	if err != nil {
		return fmt.Errorf("--server: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+d.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
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
		return errors.New("the server does not know the token")
	case response.StatusCode == http.StatusNotFound && method == http.MethodGet:
		return errors.New("there are no operators' doors at " + d.server + ": --server is the address of writ serve --admin-listen")
	}
	if response.StatusCode == http.StatusNotFound || response.StatusCode == http.StatusInternalServerError {
		return foundf("the server: %s", quoted(problem.Detail))
	}
	return fmt.Errorf("the server: %s", quoted(problem.Detail))
}

func (d *adminDoors) revisions(ctx context.Context) ([]keptRevision, error) {
	var answer struct {
		Revisions []keptRevision `json:"revisions"`
	}
	err := d.ask(ctx, http.MethodGet, "/v1/revisions", nil, &answer)
	return answer.Revisions, err
}

func (d *adminDoors) list(ctx context.Context, s streams, format string) error {
	kept, err := d.revisions(ctx)
	if err != nil {
		return err
	}
	if format == "json" {
		return writeJSON(s.out, map[string]any{"revisions": kept})
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
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
			notes = append(notes, "commit "+quoted(k.Commit))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", quoted(k.Revision), k.Since.UTC().Format(time.RFC3339), strings.Join(notes, ", "))
	}
	return w.Flush()
}

// find completes a shortened revision.
func (d *adminDoors) find(ctx context.Context, begin string) (string, error) {
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
			return "", foundf("several kept revisions begin with %q; writ rollback --list shows them", begin)
		}
		found = k.Revision
	}
	if found == "" {
		return "", foundf("no kept revision begins with %q; writ rollback --list shows those there are", begin)
	}
	return found, nil
}

func (d *adminDoors) change(ctx context.Context, s streams, path string, body any, done string) error {
	var answer map[string]any
	if err := d.ask(ctx, http.MethodPost, path, body, &answer); err != nil {
		return err
	}
	fmt.Fprintln(s.err, done)
	return nil
}
