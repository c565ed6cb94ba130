package fleet

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/translator/diag"
)

// fleetFlags adds the flags about how servers are reached.
func fleetFlags(cmd *cobra.Command, o *connection) {
	f := cmd.Flags()
	f.StringVar(&o.TokenFile, "token-file", "", "`file` with a bearer token")
	f.StringVar(&o.CA, "ca", "", "PEM `file` of authorities to trust; empty: those of the system")
	f.StringVar(&o.Cert, "client-cert", "", "PEM `file` of a client certificate")
	f.StringVar(&o.Key, "client-key", "", "PEM `file` of its key")
	f.DurationVar(&o.Timeout, "timeout", 10*time.Second, "longest `time` for an answer")
	cli.MarkCommandLineOnly(cmd, "token-file", "ca", "client-cert", "client-key", "timeout", "output")
}

// NewStatus returns the command status.
func NewStatus(s cli.Streams) *cobra.Command {
	var o connection
	var form, server string
	cmd := &cobra.Command{
		Use:   "status [URL]",
		Short: "Show what a server serves and what is wrong",
		Long: `status shows for people what GET /v1/status of a server reports: the active
revision, its age and origin, and why newer documents are not active. Locations,
errors and diagnostics are shown to auditors only. With -o json the answer of
the server is printed as it is.

Exit status 0: the server is ready and serves the newest documents; 1: it is not
ready, degraded, or serves a bundle that a revoked key signed; 2: wrong usage,
or the server cannot be reached.`,
		Example: `  writ status http://127.0.0.1:8686
  writ status https://writ.example:8686 --ca ca.crt --token-file token`,
		Args: cli.Arguments(0, 1, "name one server: its URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			servers, err := oneServer(cmd, server, args)
			if err != nil {
				return err
			}
			client, err := openFleet(o, servers)
			if err != nil {
				return err
			}
			status, text, err := client.Read(cmd.Context(), servers[0])
			if err != nil {
				return fmt.Errorf("ask the server: %s", diag.Line(err.Error()))
			}
			if form == "json" {
				_, err = s.Out.Write(text)
			} else {
				err = writeStatus(s.Out, status)
			}
			if problems := status.problems(); err == nil && len(problems) > 0 {
				return cli.Findingf("%s", diag.Line(strings.Join(problems, "; ")))
			}
			return err
		},
	}
	cli.FormatFlag(cmd, &form, "text", "json")
	cmd.Flags().StringVar(&server, "server", "", "`URL` of the server, instead of the argument")
	cli.MarkCommandLineOnly(cmd, "server")
	fleetFlags(cmd, &o)
	return cmd
}

// oneServer returns the server that the argument or --server names.
func oneServer(cmd *cobra.Command, flag string, args []string) ([]string, error) {
	switch {
	case flag == "" && len(args) == 0:
		return nil, cli.Usagef(cmd, "name a server: its URL")
	case flag != "" && len(args) > 0:
		return nil, cli.Usagef(cmd, "the server is named twice: by --server and as an argument")
	case flag != "":
		return []string{flag}, nil
	}
	return args, nil
}

// openFleet returns a client for servers with these URLs.
func openFleet(o connection, servers []string) (*client, error) {
	for _, server := range servers {
		if err := checkServer(server); err != nil {
			return nil, err
		}
	}
	return newClient(o)
}

func writeStatus(out io.Writer, s *serverStatus) error {
	var rows [][]string
	row := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, value})
		}
	}
	problems := s.problems()
	if len(problems) == 0 {
		problems = []string{"ready"}
	}
	row("state", problems[0])
	for _, problem := range problems[1:] {
		row("", problem)
	}
	if s.Draining {
		row("", "draining")
	}
	row("revision", s.Revision)
	if !s.Since.IsZero() {
		row("active", ageText(s.At.Sub(s.Since))+", since "+s.Since.UTC().Format(time.RFC3339))
	}
	if s.Bundle != nil {
		row("commit", s.Bundle.Commit)
		if s.Bundle.Sequence > 0 {
			row("sequence", fmt.Sprint(s.Bundle.Sequence))
		}
	}
	row("pinned", s.Pinned)
	row("source", strings.TrimSpace(s.Source+" "+s.Location))
	if s.Behind > 0 {
		row("behind", ageText(time.Duration(s.Behind*float64(time.Second))))
	}
	row("documents", diag.Counted(s.Errors, "error")+", "+diag.Counted(s.Warnings, "warning"))
	for _, source := range s.Sources {
		if source.Error != "" {
			row("cannot read", source.Location+": "+source.Error)
		}
	}
	row("last error", s.LastError)
	row("state error", s.StateError)
	row("version", s.Version)
	var text diag.Lines
	text.AddTable(rows)
	for _, d := range s.Diagnostics {
		at := diag.Position{File: d.File, Line: d.Line, Column: d.Column, Field: d.Field}
		text.Addf("%s: %s[%s]: %s", at, d.Severity, d.Code, d.Message)
	}
	return cli.Print(out, text.String())
}

// ageText formats a duration in whole seconds.
func ageText(d time.Duration) string { return max(0, d).Round(time.Second).String() }

// NewFleet returns the command fleet.
func NewFleet(s cli.Streams) *cobra.Command {
	return cli.Group("fleet status", "Compare the replicas of a fleet", "fleet has commands about several servers that serve the same policy.",
		newFleetStatus(s))
}

func newFleetStatus(s cli.Streams) *cobra.Command {
	var o connection
	var form string
	bound := 2 * time.Minute
	cmd := &cobra.Command{
		Use:   "status URL...",
		Short: "Show revision and age of every replica, and whether they agree",
		Long: `status asks every replica for its active revision. The newest revision is the
one with the highest sequence number or, without sequence numbers, the one that
became active last. Replicas disagree from the time at which the first of them
had it until all have it. Ages are by the clocks of the servers.

Exit status 0: all answer, are ready, and do not disagree for longer than
--max-disagree; 1: one of them does not; 2: wrong usage.`,
		Example: `  writ fleet status https://writ-0.writ:8686 https://writ-1.writ:8686 --ca ca.crt --token-file token
  writ fleet status $(cat replicas) --max-disagree 30s -o json`,
		Args: cli.Arguments(1, math.MaxInt, "name the servers: their URLs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if bound < 0 {
				return errors.New("--max-disagree must not be negative")
			}
			client, err := openFleet(o, args)
			if err != nil {
				return err
			}
			return writeFleet(s, form, client.Ask(cmd.Context(), args), bound)
		},
	}
	cmd.Flags().DurationVar(&bound, "max-disagree", bound, "longest `time` for which replicas may serve different revisions")
	cli.FormatFlag(cmd, &form, "text", "json")
	fleetFlags(cmd, &o)
	cli.MarkCommandLineOnly(cmd, "max-disagree")
	return cmd
}

// writeFleet prints the report. It returns a finding if the fleet is not as it should be.
func writeFleet(s cli.Streams, form string, report *comparison, bound time.Duration) error {
	if form == "json" {
		if err := diag.WriteIndented(s.Out, report); err != nil {
			return err
		}
	} else if err := writeReplicas(s.Out, report); err != nil {
		return err
	}
	var wrong []string
	if report.Unanswered > 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d replicas do not answer", report.Unanswered, len(report.Replicas)))
	}
	if report.Unready > 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d replicas are not ready", report.Unready, len(report.Replicas)))
	}
	if report.Revoked > 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d replicas serve a bundle of a revoked key", report.Revoked, len(report.Replicas)))
	}
	if between := time.Duration(report.Disagreement * float64(time.Second)); between > bound {
		wrong = append(wrong, fmt.Sprintf("replicas disagree for %s, longer than %s", ageText(between), bound))
	}
	if len(wrong) > 0 {
		return cli.Findingf("%s", strings.Join(wrong, "; "))
	}
	return nil
}

func writeReplicas(out io.Writer, report *comparison) error {
	rows := [][]string{{"REPLICA", "REVISION", "SEQUENCE", "ACTIVE FOR", "STATE"}}
	for _, r := range report.Replicas {
		if r.Error != "" {
			rows = append(rows, []string{r.URL, "-", "-", "-", r.Error})
			continue
		}
		state := []string{"ready"}
		switch {
		case !r.Ready:
			state[0] = "not ready"
		case r.Degraded:
			state[0] = "degraded"
		}
		if r.Revision != report.Newest {
			state = append(state, "not the newest revision")
		}
		if r.Pinned {
			state = append(state, "pinned")
		}
		if r.Revoked {
			state = append(state, "revoked key")
		}
		if r.Errors > 0 {
			state = append(state, diag.Counted(r.Errors, "error")+" in documents")
		}
		sequence := "-"
		if r.Sequence > 0 {
			sequence = fmt.Sprint(r.Sequence)
		}
		age := ageText(time.Duration(r.Age * float64(time.Second)))
		rows = append(rows, []string{r.URL, shortRevision(r.Revision), sequence, age, strings.Join(state, ", ")})
	}
	return cli.PrintTable(out, rows)
}

// shortRevision returns the part of a revision that people compare.
func shortRevision(revision string) string {
	if revision == "" {
		return "-"
	}
	return revision[:min(len(revision), 12)]
}
