package demo

import (
	"path"
	"strings"
)

// languages by extension, lower case.
var languages = map[string]string{
	".asm": "Assembly", ".s": "Assembly", ".awk": "Awk", ".bat": "Batch", ".c": "C", ".h": "C",
	".cc": "C++", ".cpp": "C++", ".cxx": "C++", ".hh": "C++", ".hpp": "C++", ".cs": "C#", ".clj": "Clojure",
	".css": "CSS", ".csv": "CSV", ".dart": "Dart", ".diff": "Diff", ".patch": "Diff", ".erl": "Erlang",
	".ex": "Elixir", ".exs": "Elixir", ".fs": "F#", ".go": "Go", ".mod": "Go module", ".sum": "Go module",
	".work": "Go module", ".graphql": "GraphQL", ".groovy": "Groovy", ".hs": "Haskell", ".html": "HTML",
	".htm": "HTML", ".ini": "INI", ".java": "Java", ".js": "JavaScript", ".mjs": "JavaScript", ".cjs": "JavaScript",
	".jsx": "JavaScript", ".json": "JSON", ".jsonl": "JSON", ".jl": "Julia", ".kt": "Kotlin", ".less": "CSS",
	".lua": "Lua", ".m": "Objective-C", ".md": "Markdown", ".markdown": "Markdown", ".ml": "OCaml", ".mk": "Makefile",
	".nix": "Nix", ".php": "PHP", ".pl": "Perl", ".pm": "Perl", ".proto": "Protocol Buffers", ".ps1": "PowerShell",
	".py": "Python", ".r": "R", ".rb": "Ruby", ".rs": "Rust", ".rst": "reStructuredText", ".sass": "CSS",
	".scala": "Scala", ".scss": "CSS", ".sh": "Shell", ".bash": "Shell", ".zsh": "Shell", ".sql": "SQL",
	".svelte": "Svelte", ".svg": "SVG", ".swift": "Swift", ".tex": "TeX", ".tf": "Terraform", ".toml": "TOML",
	".ts": "TypeScript", ".tsx": "TypeScript", ".txt": "Text", ".txtar": "Text", ".vue": "Vue", ".xml": "XML",
	".yaml": "YAML", ".yml": "YAML", ".zig": "Zig",
}

// named are files whose whole name says what they are.
var named = map[string]string{
	"makefile": "Makefile", "gnumakefile": "Makefile", "dockerfile": "Dockerfile", "license": "Text", "readme": "Text",
	".gitignore": "Git", ".gitattributes": "Git", ".gitmodules": "Git", ".editorconfig": "INI",
}

// languageOf returns the language that a file's name suggests: "other" for an
// extension that is not known, "none" for no extension.
func languageOf(p Name) string {
	base := strings.ToLower(path.Base(string(p)))
	if l, ok := named[base]; ok {
		return l
	}
	ext := path.Ext(base)
	if ext == "" || ext == base || ext == "." {
		return "none"
	}
	if l, ok := languages[ext]; ok {
		return l
	}
	return "other"
}
