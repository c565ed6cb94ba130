package lsp

import (
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// The parts of the Language Server Protocol 3.17 that the server reads and writes.

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"` // UTF-16 code units
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type location struct {
	URI   string `json:"uri"`
	Range span   `json:"range"`
}

type documentID struct {
	URI     string `json:"uri"`
	Version *int   `json:"version,omitempty"`
}

type initializeParams struct {
	RootURI          *string `json:"rootUri"`
	WorkspaceFolders []struct {
		URI string `json:"uri"`
	} `json:"workspaceFolders"`
	Capabilities struct {
		Workspace struct {
			CodeLens struct {
				RefreshSupport bool `json:"refreshSupport"`
			} `json:"codeLens"`
		} `json:"workspace"`
	} `json:"capabilities"`
}

type openParams struct {
	TextDocument struct {
		documentID
		Text string `json:"text"`
	} `json:"textDocument"`
}

type changeParams struct {
	TextDocument   documentID      `json:"textDocument"`
	ContentChanges []contentChange `json:"contentChanges"`
}

type contentChange struct {
	Range *span  `json:"range"`
	Text  string `json:"text"`
}

// placeParams are those of requests about a place in a document.
type placeParams struct {
	TextDocument documentID `json:"textDocument"`
	Position     position   `json:"position"`
	Range        span       `json:"range"`
	Context      struct {
		IncludeDeclaration bool `json:"includeDeclaration"`
	} `json:"context"`
}

type publishParams struct {
	documentID
	Diagnostics []diagnostic `json:"diagnostics"`
}

type diagnostic struct {
	Range    span      `json:"range"`
	Severity int       `json:"severity"`
	Code     string    `json:"code"`
	Source   string    `json:"source"`
	Message  string    `json:"message"`
	Related  []related `json:"relatedInformation,omitempty"`
}

type related struct {
	Location location `json:"location"`
	Message  string   `json:"message"`
}

const (
	severityError   = 1
	severityWarning = 2

	kindValue = 12
	kindField = 10

	logError = 1
)

type completionItem struct {
	Label    string   `json:"label"`
	Kind     int      `json:"kind"`
	TextEdit textEdit `json:"textEdit"`
}

type textEdit struct {
	Range   span   `json:"range"`
	NewText string `json:"newText"`
}

type codeAction struct {
	Title       string        `json:"title"`
	Kind        string        `json:"kind"`
	Diagnostics []diagnostic  `json:"diagnostics"`
	Edit        workspaceEdit `json:"edit"`
}

type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"`
}

type documentSymbol struct {
	Name           string `json:"name"`
	Kind           int    `json:"kind"`
	Range          span   `json:"range"`
	SelectionRange span   `json:"selectionRange"`
}

const symbolObject = 19

// capabilities are what the server can do, its answer to initialize.
func capabilities(version string) map[string]any {
	const incremental = 2
	return map[string]any{
		"capabilities": map[string]any{
			"positionEncoding":       "utf-16",
			"textDocumentSync":       map[string]any{"openClose": true, "change": incremental, "save": true},
			"hoverProvider":          true,
			"definitionProvider":     true,
			"referencesProvider":     true,
			"documentSymbolProvider": true,
			"codeLensProvider":       map[string]any{},
			"codeActionProvider":     map[string]any{"codeActionKinds": []string{"quickfix"}},
			"completionProvider":     map[string]any{"triggerCharacters": []string{" ", ":", "[", "{", "-", "\""}},
		},
		"serverInfo": map[string]any{"name": "writ", "version": version},
	}
}

// pathOf returns the path of a file URI, empty for another one.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.FromSlash(path)
}

// uriOf returns the URI of a file.
func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
