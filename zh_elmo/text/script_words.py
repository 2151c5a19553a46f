"""Our own small table over `t2s`: variants that it leaves, and words in which it takes the wrong one of two characters.

Variants are of the first list of variants (第一批异体字整理表, 1955) and not among the characters that the table of
2013 (通用规范汉字表) took up again, so that no simplified text has them. Rules of characters follow the notes of the
list of simplified characters (简化字总表, 1986). One to one; nothing here is learnt from the treebanks of the tests.
"""

from __future__ import annotations

import re

_VARIANTS = (
    # what `hk2s` and `tw2s` know and `t2s` does not, 牠, and forms of Japanese print
    ("敍枱粧糭衞衹痺簷睪牠砲姪舖燄擧呉様効値毎尙", "叙台妆粽卫只痹檐睾它炮侄铺焰举吴样效值每尚"),
    # variants
    ("擡賸毘鎗踫暱餽摀瑯籐啣揹凴搾荳銲跴慂徬菓", "抬剩毗枪碰昵馈捂琅藤衔背凭榨豆焊踩恿彷果"),
    ("暎羢倣傚彊粃韮鼇囓竝鬪罸蔴痲窰遶稉勦饍欬坵幷伕幚碪醡", "映绒仿效强秕韭鳌啮并斗罚麻麻窑绕粳剿膳咳丘并夫帮砧榨"),
)  # fmt: skip
CHARACTERS = {ord(one): right for ones, rights in _VARIANTS for one, right in zip(ones, rights, strict=True)}

# Words, found in the text before conversion.
PHRASES = {
    # 乾 that is read qián: places, eras, persons, and a word from Sanskrit
    "乾安縣": "乾安县", "乾西五所": "乾西五所", "乾州": "乾州", "乾德": "乾德", "乾符": "乾符", "乾祐": "乾祐",
    "王丙乾": "王丙乾", "李乾順": "李乾顺", "伏乾歸": "伏乾归", "乾闥婆": "乾闼婆",
    # words of the library's table that are rare beside what they stand for here
    "徵調": "征调", "鍾馗": "钟馗", "鍾離": "钟离",
    # words that it lacks
    "甚麼": "什么", "甚夥": "甚夥", "英哩": "英里", "公哩": "公里", "慇懃": "殷勤", "假藉": "假借",
    "規畫": "规划", "企畫": "企划", "策畫": "策划", "謀畫": "谋划", "石沈大海": "石沉大海", "沈魚落雁": "沉鱼落雁",
    # words of its table across the end of another (顛覆信念, 一批覆蓋物)
    "顛覆": "颠覆", "傾覆": "倾覆", "覆蓋": "覆盖",
    # names of its table that are nearly always the preposition 於 before another word (設於倫敦, 屬於單一)
    "於倫": "于伦", "於單": "于单", "於坦": "于坦", "於其一": "于其一", "於則": "于则", "於穆": "于穆",
    "於惟一": "于惟一", "於琳": "于琳",
}  # fmt: skip
# An era that other words look like stays before a year: 乾寧二年, but 烘乾封裝.
_ERA_NAMES = "寧封化統道亨"
_ERAS = f"乾(?=[{_ERA_NAMES}](?:[元初中末]|[一二三四五六七八九十]{{1,3}})年)"

# Rules by character, on the converted text; each begins with its character, which makes the search for it fast.
_MARK = r"\s，。、；：？！（《「『“,.;:?!("
_RULES = (
    # 著 is 着 (看著, 沿著, 著急) but in words of writing, of fame, and of being plain to see
    ("著", re.compile(
        "著(?<![名原巨鉅钜专卓昭土拙遗素杂撰]著)(?<!(?<!翻)译著)(?<!(?<![谈讨争辩议评理])论著)(?<!(?<![彰凸])显著)"
        "(?<!(?<![混结联配融聚集符综契复吻闭开组缝切迎巧])合著)(?<!编著)(?<!知微见著)(?<!见微知著)(?<!明较著)"
        "(?<!所著(?![重手眼力急想迷]))"
        "(?![名称述者录])(?!作(?![用业品]))(?!(?<![看拿抱背读捧带翻念夹提摆堆搬借靠啃]著)书)"
        f"(?!(?:(?<=^著)|(?<=[{_MARK}]著))有)",
    ), "着"),
    # 藉 is 借 but where it is read jí and in 慰藉, 蕴藉, 枕藉
    ("藉", re.compile("藉(?<![慰狼枕蕴酝蹈凌藉]藉)(?![藉田])"), "借"),
    # 帐 is 账 in words of money (第一批异形词整理表, 2001), 帐 where it hangs
    ("帐", re.compile(
        "帐(?:(?=[户号目单簿面本款务册])|(?<=[记转结付赖欠入进查报对算做坏呆烂]帐)(?![篷幕幔下中内外]))",
    ), "账"),
    ("祇", re.compile("祇(?<![神地灵社]祇)(?![园树陀洹])"), "只"),
    ("瞭", re.compile("瞭(?!望)"), "了"),
    # 覆 is 复 where it answers or does again what was done, 覆 where it covers or turns over
    ("覆", re.compile(
        "覆(?<![颠倾翻包被反]覆)(?:(?=[审查议核试检勘验判选诊述函信电诵])|(?<=[批函奏申示禀]覆)(?![盖没灭亡舟巢辙水]))",
    ), "复"),
    # 沈 is 沉 but as a surname and in 沈阳
    ("沈", re.compile(
        "沈(?:(?=[睡浸淀思着痛迷沦溺寂闷吟积甸重默没船醉稳降陷湎浑眠疴冤])"
        "|(?<=[深昏浮阴低沈沉]沈)|(?=沈))",
    ), "沉"),
)  # fmt: skip


def alternation(keys: list[str] | frozenset[str]) -> re.Pattern[str]:
    """The longest of the keys, grouped by first character, which is what keeps the search fast."""
    groups: dict[str, list[str]] = {}
    for key in sorted(keys, key=lambda key: (-len(key), key)):
        groups.setdefault(key[0], []).append(re.escape(key[1:]))
    return re.compile("|".join(f"{re.escape(first)}(?:{'|'.join(rests)})" for first, rests in groups.items()))


FOUND = frozenset(PHRASES) | {f"乾{name}" for name in _ERA_NAMES}  # where none of these occurs
RULED = frozenset(character for character, _, _ in _RULES)  # and none of these results, `mend` changes nothing
_OWN = re.compile(f"{alternation([*PHRASES]).pattern}|{_ERAS}")


def mend(text: str, converted: str) -> str:
    """Our own words over what `t2s` and CHARACTERS made of `text`."""
    pieces, position = [], 0
    for match in _OWN.finditer(text):
        pieces += [converted[position : match.start()], PHRASES.get(match.group(), "乾")]
        position = match.end()
    if pieces:
        converted = "".join(pieces) + converted[position:]
    for character, pattern, right in _RULES:
        if character in converted:
            converted = pattern.sub(right, converted)
    return converted
