"""The dashboard at `/`: a page, its style and its scripts, as they lie in `static/`.

The page is asked for anew each time and answered by its ETag. All else lies under an address that
holds the hash of the whole folder, so a browser keeps it for ever and never mixes two versions:
modules import each other by relative paths, and stay within that address. The page's own addresses
are relative, too, so that it works where the engine is mounted under a prefix.

Nobody needs a key for it: it holds nothing but itself, and asks the API with the key that it is
given. The policy lets it load and ask nothing but this engine, and run no script that lies in a
document; so whatever a tenant writes stays text (the pages' own code makes elements and text nodes
alone, which a test holds it to).

These addresses are no part of the API and are not in its description.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from aiohttp import web

from engine import __version__

FOLDER = Path(__file__).parent / "static"
TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'self'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
FOR_EVER = "public, max-age=31536000, immutable"
_HASH, _VERSION = b"HASH", b"VERSION"
"""Stand in the page where the folder's hash and the engine's version belong: the page says what an
attempt sends, and `User-Agent` holds the version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """What is served: the page, and the files by their paths in the folder."""

    page: bytes
    files: Mapping[str, bytes]
    digest: str

    def routes(self) -> list[web.RouteDef]:
        """The page's address and the files'."""
        return [
            web.get("/", self._get_page),
            web.get(f"/static/{self.digest}/{{path:.+}}", self._get_file),
        ]

    async def _get_page(self, request: web.Request) -> web.Response:
        response = _response(self.page, ".html", "no-cache")
        response.etag = self.digest
        if any(tag.value == self.digest for tag in request.if_none_match or ()):
            return web.Response(status=304, headers={"ETag": response.headers["ETag"]})
        return response

    async def _get_file(self, request: web.Request) -> web.Response:
        path = request.match_info["path"]
        if path not in self.files:
            raise web.HTTPNotFound
        return _response(self.files[path], Path(path).suffix, FOR_EVER)


def read_dashboard() -> Dashboard:
    """The folder as it is now; it has some 195 KiB."""
    files = dict(_files())
    digest = sha256(__version__.encode())
    for path, content in files.items():
        digest.update(b"%b\0%d\0%b" % (path.encode(), len(content), content))
    short = digest.hexdigest()[:16]
    page = files.pop("index.html").replace(_HASH, short.encode())
    page = page.replace(_VERSION, __version__.encode())
    return Dashboard(page=page, files=files, digest=short)


def _files() -> Iterator[tuple[str, bytes]]:
    for file in sorted(FOLDER.rglob("*")):
        if file.suffix in TYPES:
            yield file.relative_to(FOLDER).as_posix(), file.read_bytes()


def _response(content: bytes, suffix: str, cache: str) -> web.Response:
    return web.Response(
        body=content,
        content_type=TYPES[suffix],
        charset=None if suffix == ".svg" else "utf-8",
        headers={**SECURITY_HEADERS, "Cache-Control": cache},
    )
